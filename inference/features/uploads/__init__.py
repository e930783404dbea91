"""Files from outside: kept, looked at, imported."""
