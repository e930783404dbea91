"""`manage.py families`."""

from anica_app.features.families.command import Command

__all__ = ["Command"]
