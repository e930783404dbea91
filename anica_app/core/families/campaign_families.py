"""The families of a campaign: causes, groups and names, and the share of fresh disagreements that each
explains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from anica_app.core.block_domain import BlockDomain
from anica_app.core.discovery_selection import Covered, covered_blocks
from anica_app.core.domain.abstract import AbstractBlock
from anica_app.core.domain.space import SampledBlock
from anica_app.core.families.causes import (
    DifferingBound,
    DisagreementWitness,
    ToolAccess,
    WitnessCause,
    causes_of,
)
from anica_app.core.families.culprits import culprits_of
from anica_app.core.families.grouping import MAX_FAMILIES, FamilyMember, MemberGroup, group_members, names_of
from anica_app.core.search.interestingness import DIFFERENCE
from inference.predictors.protocol import Answer

_Z = 1.959964  # standard deviations that 95 % of a normal distribution are within


@dataclass(frozen=True, slots=True)
class UngroupedDiscovery:
    """A discovery to be grouped. `concrete`: it covers no block but its witness."""

    number: int
    abstract: AbstractBlock
    witness: SampledBlock
    kind: str
    concrete: bool = False


@dataclass(frozen=True)
class DiscoveryFamily:
    """Discoveries with one cause.

    Attributes:
        members: Their numbers, by size of the witness.
        predictions: For each tool the lowest and the highest cycles of the members' witnesses, None where
            it gave no number.
        blocks: Places, among the disagreements, that a member subsumes.
        own: How many of these no larger family covers.
        interval: 95 % confidence interval of `share`.
    """

    name: str
    group: MemberGroup
    members: tuple[int, ...]
    witness: FamilyMember
    predictions: tuple[tuple[float | None, float | None], ...]
    blocks: tuple[int, ...]
    own: int
    share: float | None
    interval: tuple[float, float] | None

    @property
    def bound(self) -> DifferingBound:
        return self.group.way.bound


@dataclass(frozen=True)
class CampaignFamilies:
    """All families, the largest share first.

    Attributes:
        disagreements: Number of disagreements among the judged blocks.
        explained: Covered by any family.
        by_ten: Covered by the ten largest.
        questions: Number of questions that the causes took.
    """

    families: tuple[DiscoveryFamily, ...]
    disagreements: int
    explained: int
    by_ten: int
    questions: int


def families_of(
    domain: BlockDomain,
    discoveries: Sequence[UngroupedDiscovery],
    disagreements: Sequence[SampledBlock],
    world: ToolAccess,
    tools: Sequence[str],
    questions: int,
    *,
    max_families: int = MAX_FAMILIES,
    pulse: Callable[[], None] = lambda: None,
) -> CampaignFamilies:
    """Group discoveries by cause, and compute the share of disagreements that each family explains.

    A function of its arguments and the answers. Causes are looked for in the order of the shares of
    discoveries, until `questions` are used up.

    Args:
        domain: The domain of discoveries and blocks.
        discoveries: The discoveries to group.
        disagreements: Interesting blocks by which families are weighed.
        world: Access to the tools.
        tools: Names of the tools, for the names of families.
        questions: Largest number of changed blocks to ask about.
        max_families: Largest number of families; small ones are merged beyond it.
        pulse: Called after each block of the coverage; may raise to stop.
    """
    covered = covered_blocks(domain, [discovery.abstract for discovery in discoveries], disagreements, pulse)
    for row, discovery in enumerate(discoveries):
        covered[row] &= not discovery.concrete
    weights = [int(row.sum()) for row in covered]
    ranked = sorted(range(len(discoveries)), key=lambda at: (-weights[at], discoveries[at].number))
    witnesses = [
        DisagreementWitness(discovery.number, domain.code(discovery.witness), discovery.kind)
        for discovery in (discoveries[at] for at in ranked)
    ]
    causes, used = causes_of(witnesses, world, questions)
    members = [
        FamilyMember(
            discovery.number,
            domain.code(discovery.witness),
            discovery.kind,
            len(discovery.witness),
            cause_or_guess(discovery, causes[discovery.number]),
            culprits_of(domain, discovery.abstract, discovery.witness),
            weight,
        )
        for discovery, weight in zip(discoveries, weights, strict=True)
    ]
    rows = {discovery.number: row for row, discovery in enumerate(discoveries)}
    return families_of_groups(group_members(members, max_families), covered, rows, tools, used)


def cause_or_guess(discovery: UngroupedDiscovery, cause: WitnessCause) -> WitnessCause:
    """The cause; where it is unknown, a guess from the constraints of the abstract block.

    Without a required dependency, or with operands that differ instead of being equal, the tools agree: so
    the dependency is the likely cause.
    """
    if cause.bound is not DifferingBound.UNKNOWN:
        return cause
    kinds = {place.kind for pair in discovery.abstract.aliasing.must for place in pair}
    kinds |= {"register"} if discovery.abstract.dependencies else set()
    if discovery.kind != DIFFERENCE or not kinds:
        return cause
    bound = DifferingBound.MEMORY if kinds == {"memory"} else DifferingBound.DEPENDENCIES
    return WitnessCause(bound, cause.answers, cause.slower)


def families_of_groups(
    groups: Sequence[MemberGroup],
    covered: Covered,
    rows: dict[int, int],
    tools: Sequence[str],
    questions: int = 0,
) -> CampaignFamilies:
    """The families of a campaign, one per group.

    Args:
        groups: Discoveries that disagree for the same reason.
        covered: bool[discoveries, blocks], which random blocks a discovery represents.
        rows: {number of a discovery: its row in `covered`}.
        tools: Labels of the predictors, in the order of the answers.
        questions: Blocks that predictors were asked about to find causes.
    """
    blocks = covered.shape[1]
    unions: list[Covered] = [
        np.logical_or.reduce(covered[[rows[member.number] for member in group.members]]) for group in groups
    ]
    order = sorted(range(len(groups)), key=lambda at: (-int(unions[at].sum()), at))
    names = names_of([groups[at] for at in order], tools)
    explained = np.zeros(blocks, dtype=np.bool_)
    families, by_ten = [], 0
    for place, at in enumerate(order):
        n_new = int((unions[at] & ~explained).sum())
        explained |= unions[at]
        by_ten = int(explained.sum()) if place < 10 else by_ten
        families.append(_family(names[place], groups[at], unions[at], n_new))
    return CampaignFamilies(tuple(families), blocks, int(explained.sum()), by_ten, questions)


def _family(name: str, group: MemberGroup, union: Covered, n_new: int) -> DiscoveryFamily:
    """A family with its shares; `n_new`: blocks that no family before it covers."""
    ranked = sorted(group.members, key=lambda member: (member.length, len(member.code), member.number))
    count, blocks = int(union.sum()), len(union)
    tools = max((len(member.cause.answers) for member in ranked), default=0)
    return DiscoveryFamily(
        name,
        group,
        tuple(member.number for member in ranked),
        ranked[0],
        tuple(_range(ranked, tool) for tool in range(tools)),
        tuple(int(place) for place in np.flatnonzero(union)),
        n_new,
        count / blocks if blocks else None,
        wilson(count, blocks),
    )


def _range(members: Sequence[FamilyMember], tool: int) -> tuple[float | None, float | None]:
    rows = [member.cause.answers for member in members]
    answered: list[Answer] = [answers[tool] for answers in rows if tool < len(answers)]
    cycles = [answer.cycles for answer in answered if answer.cycles is not None]
    return (min(cycles), max(cycles)) if cycles else (None, None)


def wilson(count: int, of: int) -> tuple[float, float] | None:
    """Wilson's 95 % confidence interval of the share `count / of`; None where `of` is 0.

    >>> [round(end, 3) for end in wilson(5, 10)]
    [0.237, 0.763]
    """
    if not of:
        return None
    share = count / of
    middle = share + _Z**2 / (2 * of)
    spread = _Z * math.sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    denominator = 1 + _Z**2 / of
    return max(0.0, (middle - spread) / denominator), min(1.0, (middle + spread) / denominator)
