"""Package of Django's management commands."""
