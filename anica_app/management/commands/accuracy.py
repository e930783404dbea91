"""`manage.py accuracy`."""

from anica_app.features.accuracy_checks.command import Command

__all__ = ["Command"]
