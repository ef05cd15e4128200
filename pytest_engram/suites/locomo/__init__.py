"""LoCoMo: what its file holds, and the suites over it."""
