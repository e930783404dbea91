"""Groups discoveries of one cause by the fewest classes of instructions, names groups, and matches them to
earlier ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from operator import attrgetter

from anica_app.core.families.causes import ChainKind, DifferingBound, WitnessCause
from anica_app.core.families.culprits import BY_COUNT, CulpritInstructions
from inference.core.protocols import Json
from inference.isa.block_changes import CarrierKind, CarrierRole

MAX_FAMILIES = 30

MEMORY_CLASS = "through memory"
LOAD_CLASS = "load in a chain"
FALSE_DEPENDENCY = "false dependency: "
"""Classes that replace those of instructions: a wait through memory or for a load in a chain does not depend
on the instructions. The last is a prefix for the class whose result a tool waits for although it is not
read.
"""

_MAX_NAMED = 3  # mnemonics that a class is named after; of more, one word says what they have in common
_BOUND_WORDS = {
    DifferingBound.PORTS: "throughput",
    DifferingBound.SLOTS: "issue slots",
    DifferingBound.FRONT_END: "front end",
    DifferingBound.MEMORY: "dependency through memory",
    DifferingBound.UNKNOWN: "cause unknown yet",
}


def current_name(name: str) -> str:
    """Today's name of a stored family: up to release 0.8 an unknown cause had another one."""
    return name.replace("cause not looked for", _BOUND_WORDS[DifferingBound.UNKNOWN])


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
        if self.cause.bound is DifferingBound.MEMORY:
            return (MEMORY_CLASS,)
        if self.cause.chain is ChainKind.LOAD:
            return (LOAD_CLASS,)
        if self.cause.chain is ChainKind.RESULT:
            return tuple(FALSE_DEPENDENCY + name for name in self.culprits.classes)
        return self.culprits.classes


@dataclass(frozen=True, slots=True, order=True)
class FamilyWay:
    """How tools disagree: the kind of disagreement, the slower tool (from 1), and the bound that differs."""

    kind: str
    slower: int
    bound: DifferingBound


@dataclass(frozen=True, slots=True)
class MemberGroup:
    """Discoveries of one cause. `classes`: one, or several where small groups were merged."""

    way: FamilyWay
    classes: tuple[str, ...]
    members: tuple[FamilyMember, ...]

    @property
    def weight(self) -> int:
        """The sum of the members' weights; a disagreement that several explain counts several times."""
        return sum(member.weight for member in self.members)

    @property
    def merged(self) -> bool:
        return len(self.classes) > 1


def group_members(members: Sequence[FamilyMember], max_families: int = MAX_FAMILIES) -> list[MemberGroup]:
    """At most `max_families` groups, the largest first; more only where there are more ways of disagreeing.

    Each discovery is in one group: that of the class that most discoveries of its way share; ties go by the
    number of discoveries about this class alone, then by name. The order of `members` does not matter.
    """
    by_way: dict[FamilyWay, list[FamilyMember]] = defaultdict(list)
    for member in _with_known_bounds(members):
        by_way[member.way].append(member)
    groups = [
        group for way, way_members in sorted(by_way.items()) for group in _cover_groups(way, way_members)
    ]
    return _merge(sorted(groups, key=_rank), max_families)


def _with_known_bounds(members: Sequence[FamilyMember]) -> list[FamilyMember]:
    """Replace unknown causes by the most frequent one of discoveries with the same kind, tool and class."""
    bounds_by_group: dict[tuple[str, int, str], Counter[tuple[DifferingBound, ChainKind]]] = defaultdict(
        Counter
    )
    for member in members:
        if member.cause.bound is not DifferingBound.UNKNOWN:
            for name in member.culprits.classes:
                bounds_by_group[member.kind, member.cause.slower, name][
                    member.cause.bound, member.cause.chain
                ] += 1
    completed = []
    for member in members:
        votes: Counter[tuple[DifferingBound, ChainKind]] = Counter()
        for name in member.culprits.classes:
            votes.update(bounds_by_group[member.kind, member.cause.slower, name])
        bound, chain = member.cause.bound, member.cause.chain
        if bound is DifferingBound.UNKNOWN and votes:
            bound, chain = min(votes, key=lambda vote: (-votes[vote], vote))
        completed.append(replace(member, cause=replace(member.cause, bound=bound, chain=chain)))
    return completed


def _cover_groups(way: FamilyWay, members: Sequence[FamilyMember]) -> list[MemberGroup]:
    """Greedy set cover: the class of most discoveries, then that of most of the remaining ones, and so on."""
    remaining = sorted(members, key=lambda member: member.number)
    groups = []
    while remaining:
        members_by_class: Mapping[str, list[FamilyMember]] = _by_class(remaining)
        best = min(
            members_by_class,
            key=lambda name: (-len(members_by_class[name]), -_sole_count(members_by_class[name]), name),
        )
        group = members_by_class[best]
        groups.append(MemberGroup(way, (best,), tuple(group)))
        numbers = {member.number for member in group}
        remaining = [member for member in remaining if member.number not in numbers]
    return groups


def _by_class(members: Sequence[FamilyMember]) -> dict[str, list[FamilyMember]]:
    members_by_class: dict[str, list[FamilyMember]] = defaultdict(list)
    for member in members:
        for name in member.classes:
            members_by_class[name].append(member)
    return members_by_class


def _sole_count(members: Sequence[FamilyMember]) -> int:
    """The number of members with no other class."""
    return sum(len(member.classes) == 1 for member in members)


def _rank(group: MemberGroup) -> tuple[int, int, FamilyWay, tuple[str, ...]]:
    return -group.weight, -len(group.members), group.way, group.classes


def _merge(groups: Sequence[MemberGroup], max_families: int) -> list[MemberGroup]:
    """The largest groups unchanged, all others merged by way."""
    if len(groups) <= max_families:
        return list(groups)
    largest = list(groups)
    small: list[MemberGroup] = []
    while len(largest) + len({group.way for group in small}) > max_families and largest:
        small.insert(0, largest.pop())
    by_way: dict[FamilyWay, list[MemberGroup]] = defaultdict(list)
    for group in small:
        by_way[group.way].append(group)
    joined = [
        MemberGroup(
            way,
            tuple(sorted({name for group in way_groups for name in group.classes})),
            tuple(sorted(chain(*(group.members for group in way_groups)), key=attrgetter("number"))),
        )
        for way, way_groups in by_way.items()
    ]
    return [*largest, *sorted(joined, key=_rank)]


@dataclass(frozen=True, slots=True)
class FamilyIdentity:
    """What identifies a family across campaigns, whatever the seed.

    Attributes:
        classes: Classes of the family.
        others: Further classes of its members. Stored with the family.
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
        """The kind of disagreement, the slower tool, and the bound that differs."""
        return self.kind, self.slower, self.bound

    def similarity(self, other: FamilyIdentity) -> int:
        """0 without a common class, else larger the more classes are common."""
        if self.way != other.way:
            return 0
        n_common = len(self.classes & other.classes)
        return 100 * n_common + len((self.classes | self.others) & (other.classes | other.others))


def matched_families(new: Sequence[FamilyIdentity], old: Sequence[FamilyIdentity]) -> Mapping[int, int]:
    """{place of a new family: place of the old one}; several new ones may match one old one.

    Every class of the new family must be a class of an old family of its way: a merged family matches only if
    all of its parts were known.
    """
    matches = {}
    for place, family in enumerate(new):
        former_classes = frozenset[str]().union(*(other.classes for other in old if other.way == family.way))
        closest = nearest_family(family, old)
        if closest is not None and family.classes <= former_classes:
            matches[place] = closest
    return matches


def nearest_family(family: FamilyIdentity, old: Sequence[FamilyIdentity]) -> int | None:
    """The place of the most similar old family; None where none has a class in common."""
    likeness = [family.similarity(other) for other in old]
    best = max(likeness, default=0)
    return likeness.index(best) if best else None


def names_of(groups: Sequence[MemberGroup], tools: Sequence[str]) -> list[str]:
    """A unique name for each group; the slower tool is named where names would be equal otherwise."""
    plain = [f"{subject(group)}: {cause(group, tools)}" for group in groups]
    counts = Counter(plain)
    named = [
        name if counts[name] == 1 or not group.way.slower else f"{name}, slower in {_slower(group, tools)}"
        for name, group in zip(plain, groups, strict=True)
    ]
    uses: Counter[str] = Counter()
    names = []
    for name in named:
        uses[name] += 1
        names.append(name if uses[name] == 1 else f"{name} ({uses[name]})")
    return names


def subject(group: MemberGroup) -> str:
    """The instructions that a group is about, such as `bsf, bsr`, `scalar FMA`, `stores and loads`."""
    members = group.members
    if group.merged:
        return "other instructions"
    if group.way.bound is DifferingBound.MEMORY:
        return _around_memory(members)
    name = group.classes[0].removeprefix(FALSE_DEPENDENCY)
    if name == LOAD_CLASS:
        return "memory operands"
    mnemonics = sorted({mnemonic for member in members for mnemonic in _of_class(member, name)})
    scalar = all(member.culprits.scalar for member in members)
    if name == "FMA":
        return "scalar FMA" if scalar else "FMA"
    plain = f"scalar {name}" if scalar else name
    few = len(mnemonics) <= _MAX_NAMED and name not in BY_COUNT
    named = ", ".join(mnemonics) if few else plain
    return f"{named} with memory operand" if all(member.culprits.memory for member in members) else named


def cause(group: MemberGroup, tools: Sequence[str]) -> str:
    """The bound that differs, such as `dependency through the accumulator`, `throughput`."""
    bound = group.way.bound
    if bound is DifferingBound.FAILURE:
        return _failure(group.way.kind, tools)
    if bound is DifferingBound.DEPENDENCIES:
        if group.classes == (LOAD_CLASS,):
            return "load latency within a dependency chain"
        return _dependency(group)
    if bound is DifferingBound.MEMORY and all(map(_is_never_read, group.members)):
        return "memory accesses that are taken to alias"
    return _BOUND_WORDS[bound]


def _of_class(member: FamilyMember, name: str) -> Sequence[str]:
    return [mnemonic for class_name, mnemonic in member.culprits.mnemonics if class_name == name]


def _is_never_read(member: FamilyMember) -> bool:
    """Whether the stored values that it waits for are never loaded."""
    carriers = member.cause.carriers
    return bool(carriers) and all(carrier.role is CarrierRole.RESULT for carrier in carriers)


def _around_memory(members: Sequence[FamilyMember]) -> str:
    mnemonics = sorted({mnemonic for member in members for _, mnemonic in member.culprits.mnemonics})
    if len(mnemonics) <= _MAX_NAMED:
        return ", ".join(mnemonics)
    return "read-modify-write" if all(member.length == 1 for member in members) else "stores and loads"


def _dependency(group: MemberGroup) -> str:
    """The carrier that most members wait for."""
    if group.classes[0].startswith(FALSE_DEPENDENCY):
        return "false dependency on the result"
    votes: Counter[str] = Counter()
    for member in group.members:
        kinds = {carrier.kind for carrier in member.cause.carriers}
        roles = {carrier.role for carrier in member.cause.carriers if carrier.kind is CarrierKind.REGISTER}
        if CarrierKind.STACK in kinds:
            votes["the stack pointer"] += 1
        elif CarrierKind.FLAGS in kinds and CarrierKind.REGISTER not in kinds:
            votes["the flags"] += 1
        elif CarrierRole.ACCUMULATOR in roles and member.length == 1:
            votes["the accumulator" if "FMA" in group.classes else "the destination"] += 1
        elif kinds:
            votes["registers"] += 1
    through = min(votes, key=lambda name: (-votes[name], name)) if votes else "registers"
    return f"dependency through {through}"


def _failure(kind: str, tools: Sequence[str]) -> str:
    """`crash of 2` with the tool's name."""
    phrases = []
    for failure in kind.split(", "):
        sort, of, number = failure.rpartition(" of ")
        phrases.append(f"{sort} of {_tool(int(number), tools)}" if of and number.isdecimal() else failure)
    return ", ".join(phrases)


def _slower(group: MemberGroup, tools: Sequence[str]) -> str:
    return _tool(group.way.slower, tools)


def _tool(number: int, tools: Sequence[str]) -> str:
    return tools[number - 1] if 0 < number <= len(tools) else f"tool {number}"
