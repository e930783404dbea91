"""`manage.py merge-sets`."""

from inference.features.library.sets.merge_command import Command

__all__ = ["Command"]
