"""Single experiments: measured ones, and those that are typed in."""
