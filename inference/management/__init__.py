"""What the shell can do; see docs/shell.md."""
