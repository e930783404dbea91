"""Who a connection is from: told by whatever finds out inside to what stands outside, log and budgets."""

from __future__ import annotations

from dataclasses import dataclass

CALLER = "caller"
"""Where a scope has its `Caller`."""


@dataclass
class Caller:
    """Nobody known, until somebody has `asked` who: `name` as the log has it, the account's number, and
    whether they may change things.
    """

    asked: bool = False
    name: str = "-"
    account: int | None = None
    may_change: bool = False
