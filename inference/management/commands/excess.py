"""`manage.py excess`."""

from inference.features.excess.command import Command

__all__ = ["Command"]
