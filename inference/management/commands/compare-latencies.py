"""`manage.py compare-latencies`."""

from inference.features.judging.comparing.latency_command import Command

__all__ = ["Command"]
