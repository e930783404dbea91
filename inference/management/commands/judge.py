"""`manage.py judge`."""

from inference.features.judging.engine.command import Command

__all__ = ["Command"]
