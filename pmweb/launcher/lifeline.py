"""A child process that does not outlive its parent, tied to it between fork and exec."""

from __future__ import annotations

import os

from inference.runs.lifeline import end_with


def die_with(parent: int) -> None:
    """End this process when `parent` dies, or at once if it has; to be called in the child before exec."""
    if not end_with(parent):
        os._exit(1)
