"""How much of a basic-block set the discoveries of campaigns explain (thesis §8.1.7, §8.2.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from anica_app.core.discovery_selection import Covered, covered_blocks
from anica_app.core.domain.blocks import SampledBlock
from anica_app.core.errors import AnicaError
from anica_app.core.every_scheme import everything_domain, without_uops
from anica_app.core.search.judging import InterestJudge
from anica_app.models import Campaign, Discovery
from inference.features.asking.block_sets.query import answers_of, columns_of
from inference.formats.problems import ExchangeError
from inference.models import BasicBlockSet

_CHUNK = 2000


@dataclass(frozen=True)
class SetBlock:
    """A block of a set, by its row and its place; `interest`: how far its answers are apart."""

    pk: int
    position: int
    code: bytes
    interest: float = 0.0


@dataclass(frozen=True)
class Coverage:
    """Which discovery subsumes which block: `covered[d, b]` for `discoveries[d]` and `blocks[b]`.

    `strange` are blocks with instructions of no scheme, `unsaid` discoveries that our words cannot say: for
    both nobody knows. `widened`: numbers of µops were not looked at, so that some discoveries count for more.
    """

    discoveries: tuple[Discovery, ...]
    blocks: tuple[SetBlock, ...]
    covered: Covered
    strange: tuple[SetBlock, ...]
    unsaid: tuple[Discovery, ...]
    widened: bool

    @property
    def uncovered(self) -> list[SetBlock]:
        """The blocks that no discovery subsumes."""
        if not self.discoveries:
            return list(self.blocks)
        known: Any = self.covered.any(axis=0)
        return [block for block, by_any in zip(self.blocks, known, strict=True) if not by_any]


def standing_discoveries(campaigns: Sequence[Campaign]) -> list[Discovery]:
    """The discoveries of these campaigns not covered by another one, campaign by campaign."""
    rows = Discovery.objects.filter(campaign__in=campaigns, subsumed_by=None).defer("foreign")
    return list(rows.order_by("campaign_id", "number"))


def coverage_of(
    blocks: Iterable[SetBlock],
    discoveries: Sequence[Discovery],
    pulse: Callable[[], None] = lambda: None,
) -> Coverage:
    """Ask each discovery about each block; `pulse` is called in between, and may raise."""
    domain = everything_domain()
    said, unsaid, abstracts, widened = [], [], [], False
    for one in discoveries:
        try:
            document, dropped = without_uops(one.abstract)
            abstracts.append(domain.read(document))
        except AnicaError:
            unsaid.append(one)
            continue
        said.append(one)
        widened = widened or dropped
    known: list[tuple[SetBlock, SampledBlock]] = []
    strange = []
    for block in blocks:
        sampled = domain.block_of_code(block.code)
        if sampled is None:
            strange.append(block)
        else:
            known.append((block, sampled))
        pulse()
    covered = covered_blocks(domain, abstracts, [sampled for _, sampled in known], pulse)
    return Coverage(
        tuple(said), tuple(block for block, _ in known), covered, tuple(strange), tuple(unsaid), widened
    )


def interesting_blocks(
    block_set: BasicBlockSet, columns: Sequence[str], judge: InterestJudge
) -> list[SetBlock]:
    """Those of a set's blocks whose answers in these columns are interesting.

    A block that a tool was not asked about is not. Raises `ExchangeError` for a column that there is not.
    """
    known = {column.name: column for column in columns_of(block_set)}
    if missing := [name for name in columns if name not in known]:
        raise ExchangeError(f"{block_set.name!r} has no column {missing[0]!r}, only {', '.join(known)}")
    blocks = []
    for start in range(0, block_set.size, _CHUNK):
        rows = block_set.blocks.filter(position__range=(start, start + _CHUNK - 1)).order_by("position")
        for row in answers_of(list(rows), [known[name] for name in columns]):
            answers = [answer for answer in row.answers if answer is not None]
            verdict = judge.verdict(answers) if len(answers) == len(columns) else None
            if verdict is not None and verdict.interesting:
                block = row.block
                blocks.append(SetBlock(block.pk, block.position, bytes(block.code), verdict.value))
    return blocks


def overlap_of(
    discoveries: Sequence[Discovery], pulse: Callable[[], None] = lambda: None
) -> dict[str, list[int]]:
    """{id of a discovery: ids of those of other campaigns that subsume it}.

    All must be in our words, as `Coverage.discoveries` are. `pulse` is called for each.
    """
    domain = everything_domain()
    said = [(row, domain.read(without_uops(row.abstract)[0])) for row in discoveries]
    found: dict[str, list[int]] = {}
    for row, special in said:
        general = [
            other.pk
            for other, abstract in said
            if other.campaign_id != row.campaign_id and domain.subsumes(abstract, special)
        ]
        if general:
            found[str(row.pk)] = general
        pulse()
    return found
