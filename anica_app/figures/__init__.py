"""Data of AnICA's figures, independent of their rendering."""
