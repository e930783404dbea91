"""`manage.py evaluate`."""

from inference.features.judging.evaluations.command import Command

__all__ = ["Command"]
