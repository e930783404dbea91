"""Why a back-up cannot be made or put back, in words for the person at the terminal."""

from __future__ import annotations


class BackupError(Exception):
    """The message says why, and what to do."""
