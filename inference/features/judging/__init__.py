"""How good answers are, and where they differ."""
