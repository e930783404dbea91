"""Single experiments: measured ones, and ones that a user types in."""
