"""`manage.py congruence`."""

from inference.features.judging.congruence.command import Command

__all__ = ["Command"]
