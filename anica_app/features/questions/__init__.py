"""Basic blocks that somebody asks about: who says what, and why they differ."""
