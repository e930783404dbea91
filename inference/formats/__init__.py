"""Everything that crosses the border between files, database rows and core values."""
