"""pytest's side."""
