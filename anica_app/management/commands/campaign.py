"""`manage.py campaign`."""

from anica_app.features.campaigns.command import Command

__all__ = ["Command"]
