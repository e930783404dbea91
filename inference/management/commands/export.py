"""`manage.py export`."""

from inference.features.publishing.exports.command import Command

__all__ = ["Command"]
