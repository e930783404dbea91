"""Resource mappings (Palmed)."""
