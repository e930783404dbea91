"""`manage.py compare-sets`."""

from inference.features.library.sets.compare_command import Command

__all__ = ["Command"]
