"""LongMemEval: its files, its retrieval protocol, and suites over both."""
