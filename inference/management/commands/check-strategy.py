"""`manage.py check-strategy`."""

from inference.features.learning.inferring.strategy_command import Command

__all__ = ["Command"]
