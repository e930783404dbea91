"""`manage.py compare`."""

from inference.features.comparing.command import Command

__all__ = ["Command"]
