"""`manage.py measure-block`."""

from inference.features.blocks.measure_command import Command

__all__ = ["Command"]
