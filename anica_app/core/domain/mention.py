"""Whether an abstract block speaks of an instruction scheme, and how plainly."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from anica_app.core.domain import documents, features
from anica_app.core.domain.features import everything
from anica_app.core.domain.space import operands_of
from inference.core.protocols import Json
from inference.isa.targets import DEFAULT

_NAMING = ("mnemonic", "scheme")
_UNKNOWN = "uops"  # depends on numbers that the block's document does not have


class Mention(StrEnum):
    """How a block speaks of a scheme: by its name, or as one of those that share what it asks for."""

    NAMED = "named"
    AMONG = "among"


def mention_of(text: str, isa: str = DEFAULT) -> Callable[[Json], Mention | None] | None:
    """A function of documents of abstract blocks (`documents`): the plainest mention in an instruction.

    None for the text of no scheme. An instruction that may be any speaks of none. The function raises
    `AnicaError` for what is no such document.
    """
    member = operands_of(isa).block_scheme(text)
    if member is None:
        return None
    vocabulary = everything(isa)
    values = {name: features.value(name, member, {}) for name in vocabulary.names if name != _UNKNOWN}
    known = list(zip(vocabulary.names, vocabulary.abstractions, strict=True))

    def how(wanted: tuple[Any, ...]) -> Mention | None:
        asked = [
            (name, kind, want)
            for (name, kind), want in zip(known, wanted, strict=True)
            if want is not None and name != _UNKNOWN
        ]
        if not asked or not all(kind.represents(want, values[name]) for name, kind, want in asked):
            return None
        return Mention.NAMED if any(name in _NAMING for name, _, _ in asked) else Mention.AMONG

    def mention(document: Json) -> Mention | None:
        found = {how(each.values) for each in documents.read(document, vocabulary).instructions}
        return next((each for each in Mention if each in found), None)

    return mention
