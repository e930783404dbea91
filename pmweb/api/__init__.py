"""Operations of the HTTP API about the site itself: accounts, the audit log, storage.

They call the functions that the pages call. Operations of administrators need the scope `administer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ninja import Router


def routers() -> Iterator[tuple[Router, str]]:
    """(router, heading in the reference)."""
    from pmweb.api import people, site  # noqa: PLC0415  the API loads it

    yield site.about_router, "Installation"
    yield people.account_router, "Accounts"
    yield people.session_router, "Sessions"
    yield people.sharing_router, "Shared links"
    yield site.audit_router, "Audit log"
    yield site.storage_router, "Storage"
