"""`manage.py infer`."""

from inference.features.learning.inferring.command import Command

__all__ = ["Command"]
