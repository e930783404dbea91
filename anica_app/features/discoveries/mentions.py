"""The discoveries that speak of an instruction scheme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from anica_app.core.domain.mention import Mention, mention_of
from anica_app.core.errors import AnicaError
from anica_app.models import Discovery
from inference.isa.blocks import BlockError, BlockName, schemes_of_bytes
from inference.isa.targets import DEFAULT, code_target, target_of
from inference.models import InstructionScheme

LOOKED_THROUGH = 1000
"""Newest discoveries that are looked through; those covered by others are not among them."""

SHOWN = 20


@dataclass(frozen=True)
class Mentions:
    """`found`: the `SHOWN` discoveries that speak most plainly of the scheme, the newest first. `named`: how
    many by its mnemonic or by the block they come from, `among` others; `looked` through were so many.
    """

    found: Sequence[tuple[Discovery, Mention]]
    named: int
    among: int
    looked: int

    @property
    def more(self) -> int:
        """Those that are not listed."""
        return self.named + self.among - len(self.found)


def mentions_of(scheme: InstructionScheme) -> Mentions | None:
    """Two queries; None for a scheme that discoveries cannot speak of."""
    isa = scheme.isa.name
    speaks = mention_of(scheme.text, isa) if target_of(isa).operands is not None else None
    if speaks is None:
        return None
    rows = Discovery.objects.filter(subsumed_by=None).order_by("-id")
    told: dict[Mention, list[int]] = {Mention.NAMED: [], Mention.AMONG: []}
    looked = 0
    facts = rows.values_list("pk", "abstract", "code", "campaign__isa__name")
    for pk, abstract, code, isa in facts[:LOOKED_THROUGH]:
        looked += 1
        witness = BlockName(code_target(isa or DEFAULT).name, bytes(code))
        how: Mention | None = Mention.NAMED if scheme.text in _schemes_in(witness) else None
        if how is None and abstract is not None:
            try:
                how = speaks(abstract)
            except AnicaError:  # of another version of this program, which knew other features
                continue
        if how is not None:
            told[how].append(pk)
    shown = [*told[Mention.NAMED], *told[Mention.AMONG]][:SHOWN]
    named = set(told[Mention.NAMED])
    by_id = Discovery.listed().in_bulk(shown)
    return Mentions(
        [(by_id[pk], Mention.NAMED if pk in named else Mention.AMONG) for pk in shown if pk in by_id],
        len(told[Mention.NAMED]),
        len(told[Mention.AMONG]),
        looked,
    )


@lru_cache(maxsize=2 * LOOKED_THROUGH)
def _schemes_in(name: BlockName) -> frozenset[str]:
    """The schemes of a block, remembered: the same discoveries are looked through for every scheme."""
    try:
        return frozenset(text for text in schemes_of_bytes(name.code, name.isa) if text is not None)
    except BlockError:
        return frozenset()
