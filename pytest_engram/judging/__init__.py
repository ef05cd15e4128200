"""Gold and run log to verdicts. No memory is asked here, and no table made."""
