"""`manage.py merge-sets`."""

from inference.features.sets.merge_command import Command

__all__ = ["Command"]
