"""The tables of AnICA, one aggregate per file."""
