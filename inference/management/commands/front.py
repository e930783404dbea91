"""`manage.py front`."""

from inference.features.inferring.front_command import Command

__all__ = ["Command"]
