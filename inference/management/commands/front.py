"""`manage.py front`."""

from inference.features.learning.inferring.front_command import Command

__all__ = ["Command"]
