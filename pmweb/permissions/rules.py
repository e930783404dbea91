"""What a rule says of an address, and short ways to write the usual ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pmweb.accounts.audit import Action
from pmweb.accounts.roles import AccessLevel

READING = frozenset(("GET", "HEAD", "OPTIONS"))
CHANGING = frozenset(("POST",))


@dataclass(frozen=True)
class Rule:
    """The levels that reading (GET, HEAD, OPTIONS) and changing (POST) need; None: nobody can.

    `records`: as what each use that succeeds is noted in the audit log, `of`: the model, "app.Model", of what
    `pk` in the address names. Runs and uploads that come to be, and whatever is deleted, are noted where that
    happens (`pmweb.accounts.noting`). `guards_itself`: its view asks for a token; every method reaches it.
    `recent`: whoever has not logged in lately is asked who they are first. `because`: why an administrators'
    address is not `recent`, or has no `records`.
    """

    read: AccessLevel | None
    change: AccessLevel | None
    records: Action | None = None
    of: str = ""
    guards_itself: bool = False
    recent: bool = False
    because: str = ""

    @property
    def methods(self) -> frozenset[str]:
        """Those that somebody may use."""
        return (READING if self.read is not None else frozenset()) | (
            CHANGING if self.change is not None else frozenset()
        )

    def needed(self, method: str) -> AccessLevel | None:
        """The level that this method needs; None: nobody can use it here."""
        if method in READING:
            return self.read
        return self.change if method in CHANGING else None


def page(level: AccessLevel = AccessLevel.READER, *, because: str = "") -> Rule:
    """A page, a picture, a part of a page: only read."""
    return Rule(level, None, because=because)


def form(
    level: AccessLevel = AccessLevel.OPERATOR,
    *,
    records: Action | None = None,
    of: str = "",
    recent: bool = False,
    because: str = "",
) -> Rule:
    """A page that is of use only to those who may press its button."""
    return Rule(level, level, records, of, recent=recent, because=because)


def button(level: AccessLevel = AccessLevel.OPERATOR, **facts: Any) -> Rule:
    """A POST without a page of its own, with the facts of a `form`."""
    return replace(form(level, **facts), read=None)


def export(of: str = "") -> Rule:
    """A file of what readers can see; who got it is noted."""
    return Rule(AccessLevel.READER, None, Action.EXPORTED, of)


def edit(of: str) -> Rule:
    """The form for name and note, and what else is changed of something."""
    return form(records=Action.CHANGED, of=of)


ANYBODY = Rule(AccessLevel.ANYONE, None)
"""For visitors of every kind, also before they have logged in."""

BY_TOKEN = Rule(AccessLevel.ANYONE, AccessLevel.ANYONE, guards_itself=True)
"""For programs that show a token instead of a session: the view itself asks for it."""

PAGE_WITH_BUTTONS = Rule(AccessLevel.READER, AccessLevel.OPERATOR)
"""A page that readers see, and that others can do something on."""
