"""`manage.py doubts`."""

from inference.features.judging.findings.commands import DoubtsCommand as Command

__all__ = ["Command"]
