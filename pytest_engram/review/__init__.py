"""What is done with whole runs: compared, merged, verified."""
