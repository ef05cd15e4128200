"""Generated development data, and what is chosen on it."""
