"""What lets somebody in and comes back with a back-up: sessions, links, tokens. Restoring ends all of it.

A back-up may be put back because something had leaked, and links that were used since would be unused again.
"""

from __future__ import annotations

from collections.abc import Collection

_ENDED = ("django_session", "pmweb_loginlink")
_REVOKED = ("pmweb_apitoken", "inference_agenttoken", "pmweb_sharedlink")

ALL_ENDED = (
    "All sessions and log-in links have ended, and all shared links and all tokens of programs and agents "
    "are revoked: `manage.py login-link` prints a way in"
)
TOKENS_KEPT = (
    "All sessions and log-in links have ended: `manage.py login-link` prints a way in. Tokens of programs "
    "and agents are kept, and shared links: those that were valid when the back-up was made are valid now, "
    "also if they were revoked since"
)


def ending(tables: Collection[str], *, keep_tokens: bool) -> list[str]:
    """The statements that end them in a database with these tables, in the SQL of either database."""
    ended = [f'DELETE FROM "{table}"' for table in _ENDED if table in tables]  # noqa: S608  names from above
    if keep_tokens:
        return ended
    return [
        *ended,
        *(
            f'UPDATE "{table}" SET revoked = CURRENT_TIMESTAMP WHERE revoked IS NULL'  # noqa: S608
            for table in _REVOKED
            if table in tables
        ),
    ]


def rows_left(rows: dict[str, int]) -> dict[str, int]:
    """{table: rows} of a database in which they have been ended."""
    return {table: 0 if table in _ENDED else number for table, number in rows.items()}
