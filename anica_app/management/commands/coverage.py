"""`manage.py coverage`."""

from anica_app.features.coverage.command import Command

__all__ = ["Command"]
