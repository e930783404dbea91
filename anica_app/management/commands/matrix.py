"""`manage.py matrix`."""

from anica_app.features.matrices.command import Command

__all__ = ["Command"]
