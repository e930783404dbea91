"""How many files, and so connections, this process may have open: as many as the kernel allows."""

from __future__ import annotations

import resource

RESERVED_FILES = 256
"""Open files that are kept for everything but connections: the database, static files, logs."""
MOST_FILES = 65_536


def raise_file_limit() -> int:
    """Let this process open as many files as the kernel lets it, and say how many connections that gives."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        wanted = min(soft, MOST_FILES) if soft != resource.RLIM_INFINITY else MOST_FILES
    else:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(wanted - RESERVED_FILES, wanted // 2)
