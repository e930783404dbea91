"""Families in words: what they are about, and what the tools see differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from anica_app.core.families.culprits import BY_COUNT
from anica_app.core.families.evidence import DifferingBound
from anica_app.core.families.grouping import FALSE_DEPENDENCY, LOAD_CLASS, FamilyMember, MemberGroup
from inference.isa.block_changes import CarrierKind, CarrierRole

_MOST_NAMED = 3


def names_of(groups: Sequence[MemberGroup], tools: Sequence[str]) -> list[str]:
    """A name for each group, all of them different: the slower tool is named where that is needed."""
    plain = [f"{subject(group)}: {cause(group, tools)}" for group in groups]
    counts = Counter(plain)
    named = [
        name if counts[name] == 1 or not group.way.slower else f"{name}, slower in {_slower(group, tools)}"
        for name, group in zip(plain, groups, strict=True)
    ]
    seen: Counter[str] = Counter()
    found = []
    for name in named:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


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
    mnemonics = sorted({each for one in members for each in _of_class(one, name)})
    scalar = all(one.culprits.scalar for one in members)
    if name == "FMA":
        return "scalar FMA" if scalar else "FMA"
    plain = f"scalar {name}" if scalar else name
    few = len(mnemonics) <= _MOST_NAMED and name not in BY_COUNT
    named = ", ".join(mnemonics) if few else plain
    return f"{named} with memory operand" if all(one.culprits.memory for one in members) else named


def cause(group: MemberGroup, tools: Sequence[str]) -> str:
    """What the tools see differently, such as `dependency through the accumulator`, `throughput`."""
    bound = group.way.bound
    if bound is DifferingBound.FAILURE:
        return _failure(group.way.kind, tools)
    if bound is DifferingBound.DEPENDENCIES:
        if group.classes == (LOAD_CLASS,):
            return "load latency within a dependency chain"
        return _dependency(group)
    if bound is DifferingBound.MEMORY and all(map(_is_never_read, group.members)):
        return "memory accesses that are taken to alias"
    return _SAID[bound]


def _of_class(member: FamilyMember, name: str) -> Sequence[str]:
    """The mnemonics of a member that are of the class."""
    return [mnemonic for each, mnemonic in member.culprits.mnemonics if each == name]


_SAID = {
    DifferingBound.PORTS: "throughput",
    DifferingBound.SLOTS: "issue slots",
    DifferingBound.FRONT_END: "front end",
    DifferingBound.MEMORY: "dependency through memory",
    DifferingBound.UNKNOWN: "cause not looked for",
}


def _is_never_read(member: FamilyMember) -> bool:
    """Whether it waits through memory, and nothing loads what is stored."""
    carriers = member.cause.carriers
    return bool(carriers) and all(one.role is CarrierRole.RESULT for one in carriers)


def _around_memory(members: Sequence[FamilyMember]) -> str:
    mnemonics = sorted({each for one in members for _, each in one.culprits.mnemonics})
    if len(mnemonics) <= _MOST_NAMED:
        return ", ".join(mnemonics)
    return "read-modify-write" if all(one.length == 1 for one in members) else "stores and loads"


def _dependency(group: MemberGroup) -> str:
    """Through what most members wait."""
    if group.classes[0].startswith(FALSE_DEPENDENCY):
        return "false dependency on the result"
    votes: Counter[str] = Counter()
    for one in group.members:
        kinds = {carrier.kind for carrier in one.cause.carriers}
        roles = {carrier.role for carrier in one.cause.carriers if carrier.kind is CarrierKind.REGISTER}
        if CarrierKind.STACK in kinds:
            votes["the stack pointer"] += 1
        elif CarrierKind.FLAGS in kinds and CarrierKind.REGISTER not in kinds:
            votes["the flags"] += 1
        elif CarrierRole.ACCUMULATOR in roles and one.length == 1:
            votes["the accumulator" if "FMA" in group.classes else "the destination"] += 1
        elif kinds:
            votes["registers"] += 1
    through = min(votes, key=lambda name: (-votes[name], name)) if votes else "registers"
    return f"dependency through {through}"


def _failure(kind: str, tools: Sequence[str]) -> str:
    """`crash of 2` with the tool's name."""
    said = []
    for one in kind.split(", "):
        what, of, number = one.rpartition(" of ")
        said.append(f"{what} of {_tool(int(number), tools)}" if of and number.isdecimal() else one)
    return ", ".join(said)


def _slower(group: MemberGroup, tools: Sequence[str]) -> str:
    return _tool(group.way.slower, tools)


def _tool(number: int, tools: Sequence[str]) -> str:
    return tools[number - 1] if 0 < number <= len(tools) else f"tool {number}"
