"""`manage.py accuracy`."""

from inference.features.judging.accuracy_checks.command import Command

__all__ = ["Command"]
