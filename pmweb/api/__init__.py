"""Operations of the HTTP API about the site itself: accounts, the audit log, storage.

They call what the pages of the site call. Those for administrators ask for the scope `administer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ninja import Router


def routers() -> Iterator[tuple[Router, str]]:
    """Each with its heading in the reference."""
    from pmweb.api import about, audit_log, people, sessions, sharing, storage  # noqa: PLC0415  the API loads it

    yield about.router, "Installation"
    yield people.router, "Accounts"
    yield sessions.router, "Sessions"
    yield sharing.router, "Shared links"
    yield audit_log.router, "Audit log"
    yield storage.router, "Storage"
