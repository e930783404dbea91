"""The part of a scheme's page that lists discoveries."""

from __future__ import annotations

from typing import Any

from anica_app.queries.mentions import mentions_of
from anica_app.queries.saying import words_of
from inference.models import InstructionScheme


def discoveries_panel(scheme: InstructionScheme) -> dict[str, Any] | None:
    """What the template needs; None where discoveries cannot speak of the scheme."""
    mentions = mentions_of(scheme)
    if mentions is None:
        return None
    return {
        "mentions": mentions,
        "discoveries": [(row, how.value, words_of(row.abstract)) for row, how in mentions.found],
    }
