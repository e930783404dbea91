"""What a trace of old work is, as far as keeping and removing it goes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from django.db.models import Field, TextField
from django.db.models.functions import Cast, Length
from django.utils import timezone

DAYS = "days"

_BREATH_SECONDS = 0.02


@dataclass(frozen=True)
class Weight:
    """How much something is: rows, and bytes of their bulky columns, without what the database adds."""

    rows: int = 0
    size: int = 0

    def __add__(self, other: Weight) -> Weight:
        return Weight(self.rows + other.rows, self.size + other.size)


class RetainedTrace(Protocol):
    """A sort of rows that can be thinned out.

    `keep` below is what the settings say: so many days from the end of the work, or so many rows where
    `unit` says so. `stays`: what is left of it, in words.
    """

    @property
    def key(self) -> str: ...  # noqa: D102  see above

    @property
    def title(self) -> str: ...  # noqa: D102  see above

    @property
    def goes(self) -> str: ...  # noqa: D102  see above

    @property
    def stays(self) -> str: ...  # noqa: D102  see above

    @property
    def unit(self) -> str: ...  # noqa: D102  see above

    def weigh(self, keep: int) -> Weight:
        """What would go."""
        ...

    def remove(self, keep: int) -> Weight:
        """Let it go, in small transactions, so that nobody waits long for the database; what has gone."""
        ...


def breathe() -> None:
    """Between two pieces of a removal: others want to write as well."""
    time.sleep(_BREATH_SECONDS)


def days_ago(days: int) -> datetime:
    """The moment so many days before now."""
    return timezone.now() - timedelta(days=days)


def length_of_json(column: str) -> Length:
    """Characters of a JSON column as it is stored."""
    as_text: Field[str, str] = TextField()
    return Length(Cast(column, as_text))
