"""`manage.py scheduler`."""

from inference.features.scheduler.command import Command

__all__ = ["Command"]
