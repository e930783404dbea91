"""`manage.py compare-latencies`."""

from inference.features.judging.comparing.commands import CompareLatenciesCommand as Command

__all__ = ["Command"]
