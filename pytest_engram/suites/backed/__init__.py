"""Official contradictions of which one side is backed by facts, and the other one by nothing or by mere repetition."""
