"""`manage.py excess`."""

from inference.features.judging.findings.commands import ExcessCommand as Command

__all__ = ["Command"]
