"""`manage.py front`."""

from inference.features.learning.inferring.front import FrontCommand as Command

__all__ = ["Command"]
