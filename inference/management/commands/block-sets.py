"""`manage.py block-sets`."""

from inference.features.asking.block_sets.command import Command

__all__ = ["Command"]
