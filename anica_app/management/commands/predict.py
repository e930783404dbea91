"""`manage.py predict`."""

from anica_app.features.questions.command import Command

__all__ = ["Command"]
