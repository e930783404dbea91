"""The sentence that says how long a block takes, and why, in plain text with mnemonics in backticks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from inference.core.core_model.dependences import FALSE_DEPENDENCY_BASIS, MEMORY, ChainStep
from inference.core.core_model.prediction import BoundKind
from inference.core.loop.values import InstructionAnalysis, LoopAnalysis, LoopBound, UnknownPart
from inference.isa.blocks import name_of_location
from inference.isa.code.block import Block

_MAX_NAMES = 4
_EQUAL_SHARE = 0.95
"""Share of the largest bound from which on another one takes equally long."""
_BUSY_SHARE = 0.99
_CHAINS = (BoundKind.DEPENDENCES, BoundKind.MEMORY)
_AROUND = {
    BoundKind.MEMORY: ("the first-level cache, ", ""),
    BoundKind.FRONT_END: ("the front end, ", ""),
    BoundKind.SLOTS: ("", " at the core's width"),
    BoundKind.INSTRUCTIONS: ("", " at the core's width"),
    BoundKind.ORDER: ("in program order, ", ""),
}
_NAMES = {
    BoundKind.PORTS: ("ports", True),
    BoundKind.SLOTS: ("issue slots", True),
    BoundKind.INSTRUCTIONS: ("the core's width", False),
    BoundKind.DEPENDENCES: ("dependencies", True),
    BoundKind.MEMORY: ("memory", False),
    BoundKind.FRONT_END: ("the front end", False),
    BoundKind.SCHEDULER: ("the scheduler", False),
    BoundKind.ORDER: ("program order", False),
}
"""The name of a bound in a sentence, and whether it is plural."""


def verdict_of(block: Block, analysis: LoopAnalysis) -> str:
    """One sentence for an analysis of a block: `4.0 cycles: …; ports are at 25 %.`"""
    if not analysis.bounds:
        return "Nothing is known: all bounds are left out."
    if not analysis.usual:
        return _sentence("The cycles are not known", [], _missing_text(analysis))
    reason = _reason(block, _verdict_bound(analysis), analysis)
    clauses = [reason, *_beside(analysis)] if reason else _beside(analysis)
    return _sentence(_cycles(analysis), clauses, _missing_text(analysis))


def _verdict_bound(analysis: LoopAnalysis) -> LoopBound:
    """The bound that a verdict is about: of cycles with something unknown, the one that they take at least,
    unless a time that depends on values is larger.
    """
    largest = analysis.bounds[0]
    if not analysis.is_unknown or (largest.by_values and largest.usual > analysis.cycles.low):
        return largest
    certain = [bound for bound in analysis.bounds if bound.cycles.low >= analysis.cycles.low]
    return certain[0]


def _sentence(beginning: str, clauses: Sequence[str], lacking: str) -> str:
    text = "; ".join(filter(None, [*clauses, lacking]))
    return f"{beginning}: {text}." if text else f"{beginning}."


def number_text(cycles: float) -> str:
    """Cycles with two digits: `0.25`, `4.0`, `12`."""
    if cycles < 0.995:
        return f"{cycles:.2f}"
    return f"{cycles:.1f}" if cycles < 99.5 else f"{cycles:.0f}"


def _cycles(analysis: LoopAnalysis) -> str:
    """The cycles as far as they are known; "about" where they rest on other schemes or on some values."""
    low, high = number_text(analysis.cycles.low), analysis.cycles.high
    bound = _verdict_bound(analysis)
    usual = number_text(analysis.usual)
    if high is not None:
        if low != number_text(high):
            return f"{low} to {number_text(high)} cycles"
        return f"{'About ' if _substituted_instructions(analysis, bound) else ''}{usual} cycles"
    if bound.by_values and bound.usual > analysis.cycles.low:
        return f"About {usual} cycles with the values measured"
    if bound.by_values and not analysis.is_unknown:
        return f"{usual} cycles with the quickest values"
    return (
        f"About {low} cycles or more"
        if _substituted_instructions(analysis, bound)
        else f"At least {low} cycles"
    )


def _substituted_instructions(analysis: LoopAnalysis, bound: LoopBound) -> list[InstructionAnalysis]:
    """The instructions that a bound rests on and that another scheme stands for."""
    part = "latencies" if bound.chain else "ports"
    if bound.kind is BoundKind.FRONT_END:
        return []
    return [
        instruction
        for place, instruction in enumerate(analysis.instructions)
        if instruction.substitution is not None
        and part in instruction.substitution.parts
        and (
            any(step.instruction == place for step in bound.chain)
            if bound.chain
            else _uses_busiest(analysis, instruction)
        )
    ]


def _reason(block: Block, bound: LoopBound, analysis: LoopAnalysis) -> str:
    if bound.chain:
        return _chain_text(block, bound.chain)
    if bound.kind is BoundKind.PORTS:
        return _ports_text(block, bound, analysis)
    before, behind = _AROUND.get(bound.kind, ("", ""))
    return f"{before}{bound.why}{behind}"


def _chain_text(block: Block, chain: Sequence[ChainStep]) -> str:
    """`xor` → `imul` wait for each other; a chain of one instruction waits for itself."""
    steps = _from_first(chain)
    names = [_mnemonic(block, step.instruction) for step in steps]
    through_memory = any(step.location == MEMORY for step in steps)
    if len(steps) == 1:
        (step,) = steps
        if through_memory:
            return f"`{names[0]}` waits for what it stored in the iteration before"
        register = name_of_location(step.location, block.isa)
        if step.basis.startswith(FALSE_DEPENDENCY_BASIS):
            return f"`{names[0]}` waits for the old value of {register}, unread"
        return f"`{names[0]}` waits for its own result in {register}"
    listed = names if len(names) <= _MAX_NAMES else [*names[: _MAX_NAMES - 1], "…", names[-1]]
    text = " → ".join(name if name == "…" else f"`{name}`" for name in listed)
    number = f" ({len(names)} steps)" if len(names) > _MAX_NAMES else ""
    return f"{text}{number} wait for each other{' through memory' if through_memory else ''}"


def _from_first(chain: Sequence[ChainStep]) -> list[ChainStep]:
    """The steps of a chain from the first instruction in the block on."""
    first = min(range(len(chain)), key=lambda k: chain[k].instruction)
    return [*chain[first:], *chain[:first]]


def _ports_text(block: Block, bound: LoopBound, analysis: LoopAnalysis) -> str:
    loads = analysis.port_loads
    highest_load = max(loads, default=0.0)
    if highest_load < _BUSY_SHARE * bound.usual:
        schemes = [row.scheme for row in analysis.instructions if row.scheme]
        scheme = next((text for text in schemes if bound.why.startswith(f"{text} takes ")), "")
        return f"`{scheme.partition(' ')[0]}`{bound.why.removeprefix(scheme)}" if scheme else bound.why
    busiest = [
        name for name, load in zip(analysis.ports, loads, strict=True) if load >= _BUSY_SHARE * highest_load
    ]
    users = Counter(
        _mnemonic(block, place)
        for place, instruction in enumerate(analysis.instructions)
        if _uses_busiest(analysis, instruction)
    )
    names = [f"{count} × `{name}`" if count > 1 else f"`{name}`" for name, count in users.most_common()]
    verb = "fills" if sum(users.values()) == 1 else "fill"
    ports = _join_clauses(busiest)
    return f"{_join_clauses(_first(names))} {verb} port{'s' if len(busiest) > 1 else ''} {ports}"


def _uses_busiest(analysis: LoopAnalysis, instruction: InstructionAnalysis) -> bool:
    highest_load = max(analysis.port_loads, default=0.0)
    return any(
        load >= _BUSY_SHARE * highest_load and cycles > 0
        for load, cycles in zip(analysis.port_loads, instruction.pressure or (), strict=False)
    )


def _beside(analysis: LoopAnalysis) -> list[str]:
    """How near another bound is: that of ports, or else the largest; none where the cycles are open."""
    largest, *smaller_bounds = analysis.bounds
    # The simulation of program order has all other limits in it.
    smaller_bounds = [bound for bound in smaller_bounds if bound.kind is not BoundKind.ORDER]
    if analysis.is_unknown or not smaller_bounds:
        return []
    shares = {bound.kind: bound.usual / largest.usual for bound in smaller_bounds}
    kind = max(shares, key=lambda kind: shares[kind])
    if shares[kind] < _EQUAL_SHARE and shares.get(BoundKind.PORTS):
        kind = BoundKind.PORTS
    if not shares[kind]:
        return []
    name, is_plural = _NAMES[kind]
    if shares[kind] >= _EQUAL_SHARE:
        return [f"{name} take{'' if is_plural else 's'} as long"]
    return [f"{name} {'are' if is_plural else 'is'} at {100 * shares[kind]:.0f} %"]


def _missing_text(analysis: LoopAnalysis) -> str:
    """What is not measured, or taken from other schemes, of what the cycles rest on."""
    bound = _verdict_bound(analysis)
    clauses = []
    if names := _names(_substituted_instructions(analysis, bound)):
        part = "latency" if bound.chain else "ports"
        clauses.append(f"{part} of {_join_clauses(names)} as of the nearest scheme")
    if not analysis.is_unknown:
        return "; ".join([*clauses, *_times_by_values(analysis, bound)])
    unmapped = [row for row in analysis.instructions if UnknownPart.PORTS in row.unknown]
    late = [
        analysis.instructions[place]
        for place in _open_places(analysis)
        if UnknownPart.PORTS not in analysis.instructions[place].unknown
    ]
    if names := _names(row for row in unmapped if UnknownPart.SLOTS in row.unknown):
        clauses.append(f"{_join_clauses(names)} {'is' if len(names) == 1 else 'are'} not measured")
    if names := _names(row for row in unmapped if UnknownPart.SLOTS not in row.unknown):
        clauses.append(f"the ports of {_join_clauses(names)} are not known")
    if late:
        names = _names(late)
        clauses.append(
            f"the latenc{'y' if len(names) == 1 else 'ies'} of {_join_clauses(names)} "
            f"{'is' if len(names) == 1 else 'are'} not measured"
        )
    if not any(other.kind is BoundKind.FRONT_END for other in analysis.bounds) and not clauses:
        clauses.append("the front end is not measured")
    return "; ".join([*clauses, *_times_by_values(analysis, bound)])


def _times_by_values(analysis: LoopAnalysis, subject: LoopBound) -> list[str]:
    """Which other times depend on values, where the beginning of the sentence does not say it."""
    places = {place for bound in analysis.bounds for place in bound.by_values} - {*subject.by_values}
    names = _names(analysis.instructions[place] for place in sorted(places))
    return [f"the time of {_join_clauses(names)} depends on the values"] if names else []


def _open_places(analysis: LoopAnalysis) -> list[int]:
    """The instructions of unknown latency that are part of a chain from iteration to iteration."""
    following: dict[int, set[int]] = {}
    for dependence in analysis.dependences:
        following.setdefault(dependence.producer, set()).add(dependence.consumer)
    return sorted(
        {
            dependence.consumer
            for dependence in analysis.dependences
            if dependence.cycles is None and _reaches(following, dependence.consumer, dependence.producer)
        }
    )


def _reaches(following: dict[int, set[int]], start: int, target: int) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        successors = following.get(waiting.pop(), set()) - reached
        reached |= successors
        waiting.extend(successors)
    return target in reached


def _mnemonic(block: Block, place: int) -> str:
    instruction, text = block.listing[place]
    return (instruction.scheme or text).partition(" ")[0]


def _names(instructions: Iterable[InstructionAnalysis]) -> Sequence[str]:
    names = dict.fromkeys((row.scheme or row.text).partition(" ")[0] for row in instructions)
    quoted = [f"`{name}`" for name in names]
    return _first(quoted)


def _first(names: Sequence[str]) -> Sequence[str]:
    return names if len(names) <= _MAX_NAMES else [*names[: _MAX_NAMES - 1], "others"]


def _join_clauses(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
