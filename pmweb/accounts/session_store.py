"""Sessions as Django keeps them in the database, but under a hash of their key.

The key in a browser's cookie is all that it takes to be somebody. So the table has none: whoever reads the
database, or a back-up, cannot log in with what is there. Keys are random enough (165 bits) for a plain hash,
of which as much is kept (160 bits) as the column of Django's table holds.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.utils import timezone

_LENGTH = 40


def digest_of(key: str) -> str:
    """Under what the session with this key stands in the database."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:_LENGTH]


class SessionStore(db.SessionStore):
    """Django's own, except that no key reaches the database."""

    def _get_session_from_db(self) -> Any:
        row = self._alive().first()
        if row is None:
            self._session_key = None
        return row

    async def _aget_session_from_db(self) -> Any:
        row = await self._alive().afirst()
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        """Whether there is such a session, and be it over."""
        return super().exists(digest_of(session_key))

    async def aexists(self, session_key: str) -> bool:
        return await super().aexists(digest_of(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """The row to be saved."""
        row = super().create_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        row = await super().acreate_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """End this session, or the one with that key."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(digest_of(key))

    async def adelete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            await super().adelete(digest_of(key))

    def _alive(self) -> Any:
        return self.model.objects.filter(
            session_key=digest_of(str(self.session_key)), expire_date__gt=timezone.now()
        )
