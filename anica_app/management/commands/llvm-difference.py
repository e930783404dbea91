"""`manage.py llvm-difference`."""

from anica_app.features.llvm_difference.command import Command

__all__ = ["Command"]
