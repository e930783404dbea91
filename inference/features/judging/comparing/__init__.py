"""Two models of a processor side by side."""
