"""`manage.py llvm-difference`."""

from inference.features.judging.llvm_difference.command import Command

__all__ = ["Command"]
