"""`manage.py congruence`."""

from inference.features.congruence.command import Command

__all__ = ["Command"]
