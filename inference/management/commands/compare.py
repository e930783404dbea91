"""`manage.py compare`."""

from inference.features.judging.comparing.command import Command

__all__ = ["Command"]
