"""What blocks with large errors have in common: which of their traits go with errors far above the rest.

A trait is held by some blocks: a scheme in them, an access to memory, a range of lengths. Whether its
blocks have larger errors than all others is a matter of ranks (Mann and Whitney 1947): no block counts more
for being wildly off. So many traits are tried that some would stand out by chance; what is told here still
stands out after Holm's correction (1979) for all of them. Traits that come together stand out together: one
may stand for another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from inference.core.judging.sheet import Items
from inference.core.protocols import Json
from inference.core.tables import Bools, Floats, Int64s
from inference.isa.blocks import Block, BlockError, block_of_bytes
from inference.isa.blocks.accesses import accesses_of

LEAST_BLOCKS = 5
"""With a trait, and without it: fewer say nothing."""
SIGNIFICANT = 0.01
"""The chance that any trait at all is told without reason."""
FARTHER = 0.6
"""The least share of pairs of blocks, one with and one without, of which that with the trait is farther off:
a large set makes the smallest difference significant."""


@dataclass(frozen=True, order=True, slots=True)
class Trait:
    """What blocks may have in common: `kind` is scheme, memory, length or bound."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class TraitExcess:
    """A trait of `n` blocks with larger errors than the others.

    Medians of the absolute errors `inside` and `outside` and of the errors with their sign (`signed`, above 0
    where too much is predicted), in per cent. `farther`: in how many of all pairs of a block with and one
    without it the former has the larger error. `p`: how likely that is by chance, after the correction.
    """

    kind: str
    name: str
    n: int
    inside: float
    outside: float
    signed: float
    farther: float
    p: float


@dataclass(frozen=True, slots=True)
class TraitFindings:
    """Of the traits that were `tried`, those that go with large errors, the farthest off first."""

    tried: int
    found: tuple[TraitExcess, ...]

    def as_json(self) -> Json:
        return {"tried": self.tried, "found": [asdict(one) for one in self.found]}


LENGTHS = ((1, 3), (4, 6), (7, 12), (13, None))
"""Instructions of an item: from, to."""


def traits_of_table(items: Items, at: Int64s) -> dict[Trait, Bools]:
    """{trait: bool[m]} of the items `at`: schemes, ranges of lengths, largest bounds."""
    traits: dict[Trait, Bools] = {}
    table = items.table
    if table is not None:
        experiment = np.repeat(np.arange(len(table)), np.diff(table.offsets))
        place = np.full(len(table), -1)
        place[at] = np.arange(len(at))
        chosen = place[experiment] >= 0
        order = np.argsort(table.scheme[chosen], kind="stable")
        schemes, places = table.scheme[chosen][order], place[experiment][chosen][order]
        present, starts = np.unique(schemes, return_index=True)
        for scheme, holders in zip(present.tolist(), np.split(places, starts[1:]), strict=False):
            traits[Trait("scheme", table.schemes[scheme])] = _holding(holders, len(at))
    for low, high in LENGTHS:
        own = items.lengths[at]
        name = length_range(low, high)
        traits[Trait("length", name)] = (own >= low) & (True if high is None else own <= high)
    for name in () if items.bounds is None else items.bounds.names:
        traits[Trait("bound", name)] = items.of_bound(name)[at]
    return traits


def length_range(low: int, high: int | None) -> str:
    """A range of lengths in words."""
    return f"{low} or more instructions" if high is None else f"{low} to {high} instructions"


def _holding(places: Int64s, size: int) -> Bools:
    holders = np.zeros(size, dtype=bool)
    holders[places] = True
    return holders


def telling_traits(errors: Floats, traits: Mapping[Trait, Bools]) -> TraitFindings:
    """Which traits go with large errors.

    `errors`: float64[n], relative, with their sign, not a number for blocks that are not compared; `traits`:
    bool[n] each.
    """
    known = ~np.isnan(errors)
    signed = errors[known]
    sizes = np.abs(signed)
    ranks = _ranks(sizes)
    tried = []
    for trait, holders in sorted(traits.items()):
        held = holders[known]
        if LEAST_BLOCKS <= held.sum() <= len(sizes) - LEAST_BLOCKS:
            farther, p = _compared(ranks, held)
            tried.append((p, farther, trait, held))
    found = []
    least = 0.0
    for place, (p, farther, trait, held) in enumerate(sorted(tried, key=lambda one: one[:3])):
        least = max(least, min(1.0, p * (len(tried) - place)))  # Holm: the smallest counts for all of them
        if least >= SIGNIFICANT:
            break
        if farther >= FARTHER:
            medians = (_percent(sizes[held]), _percent(sizes[~held]), _percent(signed[held]))
            found.append(TraitExcess(trait.kind, trait.name, int(held.sum()), *medians, farther, least))
    return TraitFindings(len(tried), tuple(sorted(found, key=lambda one: (-one.farther, one.kind, one.name))))


def _percent(errors: Floats) -> float:
    return round(100 * float(np.median(errors)), 4)


def _ranks(values: Floats) -> Floats:
    """From 1; equal values have the mean of their ranks."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: Floats = (ends - (counts - 1) / 2)[which]
    return means


def _compared(ranks: Floats, held: Bools) -> tuple[float, float]:
    """The share of pairs that those with the trait win, ties halved, and how likely so many or more are."""
    n, m = int(held.sum()), int((~held).sum())
    wins = float(ranks[held].sum()) - n * (n + 1) / 2
    _, ties = np.unique(ranks, return_counts=True)
    total = n + m
    tied = float((ties.astype(float) ** 3 - ties).sum()) / (total * (total - 1))
    variance = n * m / 12 * (total + 1 - tied)
    if variance <= 0:
        return 0.5, 1.0
    z = (wins - n * m / 2 - 0.5) / math.sqrt(variance)
    return wins / (n * m), math.erfc(z / math.sqrt(2)) / 2


def memory_traits(codes: Sequence[bytes], isa: str) -> dict[Trait, Bools]:
    """{trait: bool[n], which blocks have it}."""
    traits: dict[Trait, Bools] = defaultdict(lambda: np.zeros(len(codes), dtype=np.bool_))
    for place, code in enumerate(codes):
        try:
            block = block_of_bytes(code, isa)
        except BlockError:
            continue
        for name in _accesses(block):
            traits[Trait("memory", name)][place] = True
    return dict(traits)


def _accesses(block: Block) -> Iterator[str]:
    """Registers start alike, as machines have it: different bases lead to one place."""
    instructions = accesses_of(block, alike=True)
    loaded = [one.memory for each in instructions for one in each.reads if one.memory is not None]
    stored = [one.memory for each in instructions for one in each.writes if one.memory is not None]
    if loaded:
        yield "loads"
    if stored:
        yield "stores"
    if not loaded and not stored:
        yield "no access to memory"
    if any(one.overlaps(other) for one in stored for other in loaded):
        yield "loads what it has stored"
