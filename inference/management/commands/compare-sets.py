"""`manage.py compare-sets`."""

from inference.features.sets.compare_command import Command

__all__ = ["Command"]
