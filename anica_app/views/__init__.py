"""The pages of AnICA."""
