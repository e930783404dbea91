"""`manage.py latencies`."""

from inference.features.learning.latencies.command import Command

__all__ = ["Command"]
