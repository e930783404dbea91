"""`manage.py runs`."""

from inference.features.running.runs.command import Command

__all__ = ["Command"]
