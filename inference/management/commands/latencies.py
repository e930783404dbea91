"""`manage.py latencies`."""

from inference.features.latencies.command import Command

__all__ = ["Command"]
