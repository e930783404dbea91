"""`manage.py block-sets`."""

from anica_app.features.block_sets.command import Command

__all__ = ["Command"]
