"""Discoveries of one cause: the fewest classes of instructions that account for all, cause by cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from anica_app.core.families.culprits import CulpritInstructions
from anica_app.core.families.evidence import ChainKind, DifferingBound, WitnessCause
from inference.core.protocols import Json

MOST_FAMILIES = 30

MEMORY_CLASS = "through memory"
LOAD_CLASS = "load in a chain"
FALSE_DEPENDENCY = "false dependency: "
"""What waits through memory, or for a load within a chain, does so whatever the instructions are. Before the
class of an instruction whose result a tool waits for without need stands the last."""


@dataclass(frozen=True, slots=True)
class FamilyMember:
    """A discovery with its cause. `weight`: how many fresh disagreements it explains."""

    number: int
    code: bytes
    kind: str
    length: int
    cause: WitnessCause
    culprits: CulpritInstructions
    weight: int = 0

    @property
    def way(self) -> FamilyWay:
        return FamilyWay(self.kind, self.cause.slower, self.cause.bound)

    @property
    def classes(self) -> tuple[str, ...]:
        """What it could be a family with."""
        if self.cause.bound is DifferingBound.MEMORY:
            return (MEMORY_CLASS,)
        if self.cause.chain is ChainKind.LOAD:
            return (LOAD_CLASS,)
        if self.cause.chain is ChainKind.RESULT:
            return tuple(FALSE_DEPENDENCY + name for name in self.culprits.classes)
        return self.culprits.classes


@dataclass(frozen=True, slots=True, order=True)
class FamilyWay:
    """How tools disagree: in which way a block is interesting, which one is slower, which bound differs."""

    kind: str
    slower: int
    bound: DifferingBound


@dataclass(frozen=True, slots=True)
class MemberGroup:
    """Discoveries of one cause; `classes` is what they are about, several where small groups were merged."""

    way: FamilyWay
    classes: tuple[str, ...]
    members: tuple[FamilyMember, ...]

    @property
    def weight(self) -> int:
        """Disagreements that its members explain, counted once for each of them."""
        return sum(one.weight for one in self.members)

    @property
    def merged(self) -> bool:
        """Whether it is what was left of several groups."""
        return len(self.classes) > 1


def grouped(members: Sequence[FamilyMember], most: int = MOST_FAMILIES) -> list[MemberGroup]:
    """At most so many groups, as far as there are fewer ways of disagreeing; the largest first.

    Each discovery is in one group. A discovery about several classes goes to the class that most discoveries
    of its way are about; ties go by those about this class alone, then by name. The order of the discoveries
    does not matter.
    """
    by_way: dict[FamilyWay, list[FamilyMember]] = defaultdict(list)
    for one in _with_known_bounds(members):
        by_way[one.way].append(one)
    groups = [group for way, some in sorted(by_way.items()) for group in _covered(way, some)]
    return _merged(sorted(groups, key=_rank), most)


def _with_known_bounds(members: Sequence[FamilyMember]) -> list[FamilyMember]:
    """Discoveries that nobody could ask about follow those of their kind, direction and class, if any."""
    known: dict[tuple[str, int, str], Counter[tuple[DifferingBound, ChainKind]]] = defaultdict(Counter)
    for one in members:
        if one.cause.bound is not DifferingBound.UNKNOWN:
            for name in one.culprits.classes:
                known[one.kind, one.cause.slower, name][one.cause.bound, one.cause.chain] += 1
    found = []
    for one in members:
        votes: Counter[tuple[DifferingBound, ChainKind]] = Counter()
        for name in one.culprits.classes:
            votes.update(known[one.kind, one.cause.slower, name])
        bound, chain = one.cause.bound, one.cause.chain
        if bound is DifferingBound.UNKNOWN and votes:
            bound, chain = min(votes, key=lambda each: (-votes[each], each))
        found.append(replace(one, cause=replace(one.cause, bound=bound, chain=chain)))
    return found


def _covered(way: FamilyWay, members: Sequence[FamilyMember]) -> list[MemberGroup]:
    """The class that most are about, then the one that most of the others are about, and so on."""
    left = sorted(members, key=lambda one: one.number)
    groups = []
    while left:
        about: Mapping[str, list[FamilyMember]] = _by_class(left)
        best = min(about, key=lambda name: (-len(about[name]), -_alone(about[name]), name))
        chosen = about[best]
        groups.append(MemberGroup(way, (best,), tuple(chosen)))
        taken = {one.number for one in chosen}
        left = [one for one in left if one.number not in taken]
    return groups


def _by_class(members: Sequence[FamilyMember]) -> dict[str, list[FamilyMember]]:
    found: dict[str, list[FamilyMember]] = defaultdict(list)
    for one in members:
        for name in one.classes:
            found[name].append(one)
    return found


def _alone(members: Sequence[FamilyMember]) -> int:
    """How many are about nothing else."""
    return sum(len(one.classes) == 1 for one in members)


def _rank(group: MemberGroup) -> tuple[int, int, FamilyWay, tuple[str, ...]]:
    return -group.weight, -len(group.members), group.way, group.classes


def _merged(groups: Sequence[MemberGroup], most: int) -> list[MemberGroup]:
    """The largest as they are, all others of one way in one."""
    if len(groups) <= most:
        return list(groups)
    kept = list(groups)
    rest: list[MemberGroup] = []
    while len(kept) + len({one.way for one in rest}) > most and kept:
        rest.insert(0, kept.pop())
    by_way: dict[FamilyWay, list[MemberGroup]] = defaultdict(list)
    for group in rest:
        by_way[group.way].append(group)
    joined = [
        MemberGroup(
            way,
            tuple(sorted({name for one in some for name in one.classes})),
            tuple(sorted((each for one in some for each in one.members), key=lambda each: each.number)),
        )
        for way, some in by_way.items()
    ]
    return [*kept, *sorted(joined, key=_rank)]


@dataclass(frozen=True, slots=True)
class FamilyIdentity:
    """What a family is known by, whatever the seed: how the tools disagree, and what about.

    `classes` are those that the family is about, `others` what its members are about besides.
    """

    kind: str
    slower: int
    bound: str
    classes: frozenset[str]
    others: frozenset[str] = frozenset()

    def as_json(self) -> Json:
        return {**asdict(self), "classes": sorted(self.classes), "others": sorted(self.others)}

    @classmethod
    def read(cls, document: Json) -> FamilyIdentity:
        sets = {name: frozenset(document[name]) for name in ("classes", "others")}
        return cls(**{**document, **sets})

    @property
    def way(self) -> tuple[str, int, str]:
        """How the tools disagree: the kind, which one is slower, which bound differs."""
        return self.kind, self.slower, self.bound

    def likeness(self, other: FamilyIdentity) -> int:
        """0 where they have nothing in common, else the more the more they have."""
        if self.way != other.way:
            return 0
        about = len(self.classes & other.classes)
        return 100 * about + len((self.classes | self.others) & (other.classes | other.others))


def matched(new: Sequence[FamilyIdentity], old: Sequence[FamilyIdentity]) -> Mapping[int, int]:
    """{place of a new family: place of the old one that it is}; several may be the same old one.

    Each class that a new one is about must be what an old one of its way is about: small families that were
    put together are the same only if all of them were there.
    """
    found = {}
    for place, one in enumerate(new):
        known = frozenset[str]().union(*(other.classes for other in old if other.way == one.way))
        closest = nearest(one, old)
        if closest is not None and one.classes <= known:
            found[place] = closest
    return found


def nearest(one: FamilyIdentity, old: Sequence[FamilyIdentity]) -> int | None:
    """The place of the old family that has most in common with this one; None where none has anything."""
    likeness = [one.likeness(other) for other in old]
    best = max(likeness, default=0)
    return likeness.index(best) if best else None
