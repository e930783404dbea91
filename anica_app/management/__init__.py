"""The command line of AnICA."""
