"""`manage.py excess`."""

from inference.features.judging.excess.command import Command

__all__ = ["Command"]
