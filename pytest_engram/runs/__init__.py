"""What a run leaves: its log, its manifest, and the folder that holds both."""
