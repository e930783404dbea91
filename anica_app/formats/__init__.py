"""From campaign directories and archives to values and back, without a database."""
