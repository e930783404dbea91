"""`manage.py measure-block`."""

from inference.features.asking.blocks.measure_command import Command

__all__ = ["Command"]
