"""`manage.py infer`."""

from inference.features.inferring.command import Command

__all__ = ["Command"]
