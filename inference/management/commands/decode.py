"""`manage.py decode`."""

from inference.features.blocks.decode_command import Command

__all__ = ["Command"]
