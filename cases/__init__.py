"""The shipped suites: committed pilot sets and hand-built micro-tests. Data, not code."""
