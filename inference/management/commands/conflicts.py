"""`manage.py conflicts`."""

from inference.features.judging.findings.commands import ConflictsCommand as Command

__all__ = ["Command"]
