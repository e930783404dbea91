"""What blocks with large errors have in common: traits whose blocks have significantly larger errors.

A trait belongs to some blocks: a scheme in them, an access to memory, a range of lengths. Whether its blocks
have larger errors than all others is tested by ranks (Mann and Whitney 1947), so no block counts more for an
extreme error. With many tests some would be significant by chance; those reported are significant after
Holm's correction (1979) for all of them. Traits that occur together are significant together: one may stand
for another.
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
from inference.isa.blocks import Block, BlockError, accesses_of, block_of_bytes

MIN_BLOCKS = 5
"""Smallest number of blocks with a trait, and without it, for a test."""

MAX_P = 0.01
"""Probability that any trait at all is reported by chance."""

MIN_FARTHER_SHARE = 0.6
"""Smallest effect: the share of pairs, of a block with and one without the trait, in which the former has the
larger error. In a large set even tiny differences are significant.
"""


@dataclass(frozen=True, order=True, slots=True)
class Trait:
    """A property of blocks: `kind` is scheme, memory, length or bound."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class TraitExcess:
    """A trait of `n` blocks with larger errors than the others.

    Medians, in per cent, of the absolute errors `inside` and `outside`, and of the errors with their sign
    (`signed`, above 0 where too much is predicted).

    Attributes:
        farther: Share of all pairs of a block with and one without the trait in which the former has the
            larger error.
        p: Probability of that by chance, after the correction.
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
    """The traits that go with large errors, the largest effect first; `tried`: number of tested traits."""

    tried: int
    traits: tuple[TraitExcess, ...]

    def as_json(self) -> Json:
        return {"tried": self.tried, "found": [asdict(trait) for trait in self.traits]}


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
        is_part = place[experiment] >= 0
        order = np.argsort(table.scheme[is_part], kind="stable")
        schemes, places = table.scheme[is_part][order], place[experiment][is_part][order]
        present, starts = np.unique(schemes, return_index=True)
        for scheme, holders in zip(present.tolist(), np.split(places, starts[1:]), strict=False):
            traits[Trait("scheme", table.schemes[scheme])] = _block_mask(holders, len(at))
    for low, high in LENGTHS:
        lengths = items.lengths[at]
        name = length_range(low, high)
        traits[Trait("length", name)] = (lengths >= low) & (True if high is None else lengths <= high)
    for name in () if items.bounds is None else items.bounds.names:
        traits[Trait("bound", name)] = items.of_bound(name)[at]
    return traits


def length_range(low: int, high: int | None) -> str:
    """`4 to 6 instructions`, `13 or more instructions`."""
    return f"{low} or more instructions" if high is None else f"{low} to {high} instructions"


def _block_mask(places: Int64s, size: int) -> Bools:
    holders = np.zeros(size, dtype=bool)
    holders[places] = True
    return holders


def significant_traits(errors: Floats, traits: Mapping[Trait, Bools]) -> TraitFindings:
    """The traits that go with large errors.

    Args:
        errors: float64[n], relative, with their sign; nan for blocks that are not compared.
        traits: {trait: bool[n]}.
    """
    is_compared = ~np.isnan(errors)
    signed = errors[is_compared]
    sizes = np.abs(signed)
    ranks = _ranks(sizes)
    tested = []
    for trait, holders in sorted(traits.items()):
        inside = holders[is_compared]
        if MIN_BLOCKS <= inside.sum() <= len(sizes) - MIN_BLOCKS:
            farther, p = _rank_test(ranks, inside)
            tested.append((p, farther, trait, inside))
    excesses = []
    p_holm = 0.0
    for place, (p, farther, trait, inside) in enumerate(sorted(tested, key=lambda row: row[:3])):
        # Holm's correction: an adjusted p is never smaller than that of a trait before.
        p_holm = max(p_holm, min(1.0, p * (len(tested) - place)))
        if p_holm >= MAX_P:
            break
        if farther >= MIN_FARTHER_SHARE:
            medians = (_percent(sizes[inside]), _percent(sizes[~inside]), _percent(signed[inside]))
            excesses.append(TraitExcess(trait.kind, trait.name, int(inside.sum()), *medians, farther, p_holm))
    excesses.sort(key=lambda excess: (-excess.farther, excess.kind, excess.name))
    return TraitFindings(len(tested), tuple(excesses))


def _percent(errors: Floats) -> float:
    return round(100 * float(np.median(errors)), 4)


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values have the mean of their ranks."""
    _, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: Floats = (ends - (counts - 1) / 2)[groups]
    return means


def _rank_test(ranks: Floats, inside: Bools) -> tuple[float, float]:
    """The share of pairs in which the block with the trait has the larger error, and its p value.

    Ties count half.
    """
    n, m = int(inside.sum()), int((~inside).sum())
    wins = float(ranks[inside].sum()) - n * (n + 1) / 2
    _, ties = np.unique(ranks, return_counts=True)
    total = n + m
    tied = float((ties.astype(float) ** 3 - ties).sum()) / (total * (total - 1))
    variance = n * m / 12 * (total + 1 - tied)
    if variance <= 0:
        return 0.5, 1.0
    z = (wins - n * m / 2 - 0.5) / math.sqrt(variance)
    return wins / (n * m), math.erfc(z / math.sqrt(2)) / 2


def memory_traits(codes: Sequence[bytes], isa: str) -> dict[Trait, Bools]:
    """{trait: bool[n], which blocks have it}; code that is no block has no trait."""
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
    """Kinds of memory accesses of a block.

    Registers are equal, as machines start blocks, so accesses by different bases overlap.
    """
    instructions = accesses_of(block, equal_start=True)
    reads = [access.memory for instruction in instructions for access in instruction.reads]
    writes = [access.memory for instruction in instructions for access in instruction.writes]
    loaded, stored = ([place for place in places if place is not None] for places in (reads, writes))
    if loaded:
        yield "loads"
    if stored:
        yield "stores"
    if not loaded and not stored:
        yield "no access to memory"
    if any(access.overlaps(other) for access in stored for other in loaded):
        yield "loads what it has stored"
