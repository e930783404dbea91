"""`manage.py check-strategy`."""

from inference.features.inferring.strategy_command import Command

__all__ = ["Command"]
