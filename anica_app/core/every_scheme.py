"""The abstract domain over every scheme: what an abstract block represents wherever nobody chose schemes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from anica_app.core.block_domain import BlockDomain
from anica_app.core.domain import documents, features
from anica_app.core.domain.features import everything
from anica_app.core.domain.settings import FEATURES, MOST_EDITS, MOST_LOG, DomainSettings, SpaceSettings
from anica_app.core.domain.space import operands_of
from anica_app.core.errors import AnicaError
from inference.core.protocols import Json
from inference.isa.targets import DEFAULT, target_of

_UOPS = "uops"


@cache
def everything_domain() -> BlockDomain:
    """All schemes that blocks can have, and everything that discoveries speak of but numbers of µops.

    Those are counted by the mapping of a campaign, which need not be here.
    """
    settings = DomainSettings(
        features=" ".join(name for name in FEATURES if name != _UOPS),
        edit_distance=MOST_EDITS,
        log_bound=MOST_LOG,
    )
    return BlockDomain.of(settings, SpaceSettings(groups=" ".join(target_of(DEFAULT).sampling_groups)))


def without_uops(document: Json | None) -> tuple[Json, bool]:
    """The document without what it says of numbers of µops, and whether it says any.

    Raises `AnicaError` where there is none.
    """
    if document is None:
        raise AnicaError("the discovery is not in our words")
    instructions = document.get("instructions", [])
    if not any(_UOPS in one for one in instructions if isinstance(one, dict)):
        return document, False
    left = [{name: value for name, value in one.items() if name != _UOPS} for one in instructions]
    return {**document, "instructions": left}, True


@dataclass(frozen=True, slots=True)
class RepresentedSchemes:
    """What one instruction of an abstract block stands for: so many schemes, and the first of them."""

    count: int
    schemes: tuple[str, ...]


def represented_schemes(document: Json | None, most: int) -> list[RepresentedSchemes]:
    """For each instruction of an abstract block, the schemes that it represents; `most` are listed.

    What it says of numbers of µops is left out. Raises `AnicaError` for what is no abstract block of ours.
    """
    domain = everything_domain()
    abstract = domain.read(without_uops(document)[0])
    found = []
    for one in abstract.instructions:
        bits = domain.table.meaning(one)
        texts = [text for place, text in enumerate(domain.space.texts) if bits >> place & 1]
        found.append(RepresentedSchemes(len(texts), tuple(sorted(texts)[:most])))
    return found


def generality_of(document: Json | None) -> int | None:
    """The least number of schemes that an instruction represents (§8.1.7); None where nobody can tell."""
    try:
        return min((one.count for one in represented_schemes(document, 0)), default=None)
    except AnicaError:
        return None


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
