"""Why the site cannot start, in words for the person at the terminal."""

from __future__ import annotations


class LaunchError(Exception):
    """The site cannot start or go on; the message says why and what to do."""
