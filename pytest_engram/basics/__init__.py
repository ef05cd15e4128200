"""What every room may use: the cache, progress bars, and what may stand in a report."""
