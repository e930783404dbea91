"""`manage.py scheduler`."""

from inference.features.learning.scheduler.command import Command

__all__ = ["Command"]
