"""What lets somebody in and comes back with a back-up: sessions, links, tokens, passwords; all of it ends.

A back-up may be put back because something had leaked, and links that were used since would be unused again.
Or somebody has changed the file: a password of theirs in it would let them in.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password

_ENDED = ("django_session", "pmweb_loginlink")
_REVOKED = ("pmweb_apitoken", "inference_agenttoken", "pmweb_sharedlink")
_ACCOUNTS = "auth_user"


@dataclass(frozen=True)
class KeptWays:
    """What of the ways in stays valid: for a file that nobody else can have read (tokens) or changed."""

    tokens: bool = False
    passwords: bool = False

    def summary(self) -> str:
        """What has ended and what has not, and how to get in, for whoever restores."""
        ended = "All sessions and log-in links have ended"
        ended += "" if self.passwords else ", no password is valid any more"
        if not self.tokens:
            ended += ", and all shared links and all tokens of programs and agents are revoked"
        lines = [f"{ended}: `manage.py login-link` prints a way in"]
        if self.tokens:
            lines.append(
                "Tokens of programs and agents are kept, and shared links: those that were valid when the "
                "back-up was made are valid now, also if they were revoked since"
            )
        if self.passwords:
            lines.append("Passwords are those that the back-up has")
        lines.append(
            "The back-up says who has an account, and who is an administrator: `manage.py account list`"
        )
        return ". ".join(lines)

    def ending(self, tables: Collection[str]) -> list[str]:
        """The statements that end the others in a database with these tables, on SQLite and PostgreSQL."""
        statements = [f'DELETE FROM "{table}"' for table in _ENDED if table in tables]  # noqa: S608  from above
        if not self.passwords and _ACCOUNTS in tables:
            unusable = make_password(None)  # letters and digits behind an exclamation mark
            statements.append(f"UPDATE \"{_ACCOUNTS}\" SET password = '{unusable}'")  # noqa: S608
        if not self.tokens:
            statements += [
                f'UPDATE "{table}" SET revoked = CURRENT_TIMESTAMP WHERE revoked IS NULL'  # noqa: S608
                for table in _REVOKED
                if table in tables
            ]
        return statements
