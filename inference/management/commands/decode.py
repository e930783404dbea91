"""`manage.py decode`."""

from inference.features.asking.blocks.decode_command import Command

__all__ = ["Command"]
