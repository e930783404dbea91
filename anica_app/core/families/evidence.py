"""What the answers for changed blocks say of a disagreement: what it waits for, and which bound differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from anica_app.core.search.judging import DIFFERENCE
from inference.core.protocols import Json
from inference.isa.block_changes import (
    NOPS,
    BlockChange,
    Carrier,
    CarrierKind,
    CarrierRole,
    ChangedBlock,
    ChangeKind,
)
from inference.isa.blocks import BlockError, changed_block
from inference.predictors.protocol import Answer

Answers = tuple[Answer, ...]
Ask = Callable[[Sequence[bytes]], Sequence[Answers]]
"""The answers of all tools for each block, in the order asked."""


REMAINING = 0.5
"""Share of a difference that may be left where a change is said to make it vanish."""

_WIDEST = 8  # instructions that any core takes in within a cycle
_SEEN = 0.8  # of what they take at least
_LEAST_LONGER = 0.04  # of a block's time: measurements differ by less from one time to the next


_TO_EASE = frozenset((ChangeKind.CUT_EVERYWHERE, ChangeKind.CUT_ONE_EVERYWHERE, ChangeKind.REGISTERS))
"""Changes in every copy, which may hide a difference by what they cost: they count only if the slower tool
predicts less."""


class DifferingBound(StrEnum):
    """Which bound of a block's time the tools see differently."""

    PORTS = "ports"
    SLOTS = "slots"
    DEPENDENCIES = "dependencies"
    MEMORY = "memory"
    FRONT_END = "front end"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class ChainKind(StrEnum):
    """What the slower tool alone takes for a link of a chain of dependencies."""

    PLAIN = ""
    """Nothing but instructions, which take it longer."""
    LOAD = "load"
    """A load whose address is known all the time: with registers in its place the tools agree."""
    RESULT = "result"
    """A register that is only written, as if it were read: a false dependency."""


@dataclass(frozen=True, slots=True)
class DisagreementWitness:
    """A block that shows a discovery, by its number; `kind` is the way in which it is interesting."""

    number: int
    code: bytes
    kind: str


@dataclass(frozen=True, slots=True)
class TriedChange:
    """A change with what the tools say of the block within it, per copy.

    `vanishes`: of what they differ by, at most `REMAINING` is left.
    """

    change: BlockChange
    answers: Answers
    vanishes: bool

    def as_json(self) -> Json:
        """For the page: what was done, and the answers."""
        return {
            "change": self.change.kind.value,
            "cut": [carrier.name for carrier in self.change.cut],
            "code": self.change.code.hex(),
            "cycles": [answer.cycles for answer in self.answers],
            "vanishes": self.vanishes,
        }


@dataclass(frozen=True)
class WitnessCause:
    """Why the tools disagree about a witness.

    `answers`: for the block itself. `slower`: which tool, from 1, says more; 0 where one fails. `carriers`:
    those whose cut makes the disagreement vanish, or for `ChainKind.LOAD` eases it.
    """

    bound: DifferingBound
    answers: Answers
    slower: int = 0
    carriers: tuple[Carrier, ...] = ()
    tried: tuple[TriedChange, ...] = ()
    chain: ChainKind = ChainKind.PLAIN


@dataclass(frozen=True)
class CauseWorld:
    """Whom to ask.

    `executes`: a tool executes blocks. `said`: which bound a core model among the tools names in its answers.
    """

    ask: Ask
    executes: bool = False
    said: Callable[[Answers], str] = lambda answers: ""


def causes_of(
    witnesses: Sequence[DisagreementWitness], world: CauseWorld, questions: int
) -> tuple[dict[int, WitnessCause], int]:
    """The cause of each by its number, and how many questions that took, `questions` at most.

    What is asked is a function of the witnesses and the answers. Those for which no questions are left have
    the bound `UNKNOWN`. The witness itself is asked for again, which costs no question.
    """
    answered = dict(zip(witnesses, world.ask([one.code for one in witnesses]), strict=True))
    open_ones: list[tuple[DisagreementWitness, ChangedBlock, list[BlockChange]]] = []
    spent = 0
    for one in witnesses:
        block = _changed(one, world)
        wanted = [] if block is None else block.first()
        if block is not None and spent + len(wanted) <= questions:
            spent += len(wanted)
            open_ones.append((one, block, wanted))
    first = _tried(world, answered, [(one, each) for one, _, wanted in open_ones for each in wanted])
    closer: list[tuple[DisagreementWitness, BlockChange]] = []
    for one, block, _ in open_ones:
        is_cut = _vanishes(first[one.number], ChangeKind.CUT_ALL)
        repeats = _vanishes(first[one.number], ChangeKind.REPEATED)
        for wanted in (
            block.each() if is_cut else block.parted(),
            [] if is_cut or repeats else block.everywhere(),
            [] if repeats else block.in_registers(),
        ):
            if spent + len(wanted) <= questions:
                spent += len(wanted)
                closer += [(one, each) for each in wanted]
    second = _tried(world, answered, closer)
    closest: list[tuple[DisagreementWitness, BlockChange]] = []
    for one, block, _ in open_ones:
        is_cut = _vanishes(second.get(one.number, ()), ChangeKind.CUT_EVERYWHERE)
        wanted = block.each_everywhere() if is_cut else []
        if spent + len(wanted) <= questions:
            spent += len(wanted)
            closest += [(one, each) for each in wanted]
    third = _tried(world, answered, closest)
    found = {}
    for one in witnesses:
        tried = tuple(each for round_ in (first, second, third) for each in round_.get(one.number, ()))
        found[one.number] = _concluded(one, answered[one], tried, world)
    return found, spent


def _changed(one: DisagreementWitness, world: CauseWorld) -> ChangedBlock | None:
    """The block to be changed; None where nothing is to be learnt from that."""
    if one.kind != DIFFERENCE:
        return None
    try:
        return changed_block(one.code, executes=world.executes)
    except BlockError:
        return None


def _tried(
    world: CauseWorld,
    answered: Mapping[DisagreementWitness, Answers],
    wanted: Sequence[tuple[DisagreementWitness, BlockChange]],
) -> dict[int, list[TriedChange]]:
    """All changes at once, by the number of the witness."""
    found: dict[int, list[TriedChange]] = {}
    answers = world.ask([change.code for _, change in wanted]) if wanted else []
    for (one, change), given in zip(wanted, answers, strict=True):
        scaled = tuple(_per_copy(answer, change.copies) for answer in given)
        left, before = _apart(scaled), _apart(answered[one])
        vanishes = left is not None and before is not None and left <= REMAINING * before
        if change.kind in _TO_EASE:
            vanishes = vanishes and _eases(answered[one], scaled)
        found.setdefault(one.number, []).append(TriedChange(change, scaled, vanishes))
    return found


def _per_copy(answer: Answer, copies: int) -> Answer:
    return answer if answer.cycles is None else Answer(cycles=answer.cycles / copies)


def _apart(answers: Answers) -> float | None:
    """By how many cycles two tools differ."""
    cycles = [answer.cycles for answer in answers if answer.cycles is not None]
    return abs(cycles[0] - cycles[1]) if len(cycles) == len(answers) == 2 else None


def _eases(before: Answers, after: Answers) -> bool:
    """Whether the slower tool gains: what cuts everywhere may hide a difference by its own cost, too."""
    slower, apart = slower_of(before), _apart(before)
    if not slower or apart is None:
        return False
    then, now = before[slower - 1].cycles, after[slower - 1].cycles
    return then is not None and now is not None and then - now >= (1 - REMAINING) * apart


def _chain_of(carriers: Sequence[Carrier]) -> ChainKind:
    registers = [one.role for one in carriers if one.kind is CarrierKind.REGISTER]
    false = bool(registers) and all(role is CarrierRole.RESULT for role in registers)
    return ChainKind.RESULT if false else ChainKind.PLAIN


def _cuts_all_of_it(tried: TriedChange, before: Answers) -> bool:
    """Whether all dependencies were cut at once, and the slower tool gains by it."""
    return tried.change.kind in (ChangeKind.CUT_ALL, ChangeKind.CUT_EVERYWHERE) and _eases(
        before, tried.answers
    )


def _vanishes(tried: Sequence[TriedChange], kind: ChangeKind) -> bool:
    return any(one.vanishes for one in tried if one.change.kind is kind)


def _concluded(
    one: DisagreementWitness, answers: Answers, tried: tuple[TriedChange, ...], world: CauseWorld
) -> WitnessCause:
    if one.kind != DIFFERENCE:
        return WitnessCause(DifferingBound.FAILURE, answers)
    slower = slower_of(answers)
    said = world.said(answers)
    if _is_between_accesses(tried):
        every = next((t.change.cut for t in tried if t.change.kind is ChangeKind.CUT_ALL), ())
        places = tuple(carrier for carrier in every if carrier.kind is CarrierKind.MEMORY)
        return WitnessCause(DifferingBound.MEMORY, answers, slower, places, tried)
    # Where copies alone make it vanish, cutting them says nothing. Where registers in place of loads do so,
    # a cut need only make the slower tool faster: the loads that are left may still differ.
    loads = _vanishes(tried, ChangeKind.REGISTERS)
    cuts = [t for t in tried if t.change.cut and (t.vanishes or (loads and _cuts_all_of_it(t, answers)))]
    if cuts and not _vanishes(tried, ChangeKind.REPEATED):
        carriers = _fewest(cuts)
        memory = all(carrier.kind is CarrierKind.MEMORY for carrier in carriers)
        bound = DifferingBound.MEMORY if memory else DifferingBound.DEPENDENCIES
        chain = ChainKind.PLAIN if memory else ChainKind.LOAD if loads else _chain_of(carriers)
        return WitnessCause(bound, answers, slower, carriers, tried, chain)
    if said:
        return WitnessCause(DifferingBound(said), answers, slower, (), tried)
    if not tried:
        return WitnessCause(DifferingBound.UNKNOWN, answers, slower)
    bound = DifferingBound.FRONT_END if _is_front_end(tried, slower) else DifferingBound.PORTS
    return WitnessCause(bound, answers, slower, (), tried)


def slower_of(answers: Sequence[Answer]) -> int:
    """Which of two tools, from 1, predicts more cycles; 0 where they are not two numbers."""
    cycles = [answer.cycles for answer in answers]
    if len(cycles) != 2 or cycles[0] is None or cycles[1] is None:
        return 0
    return 1 if cycles[0] > cycles[1] else 2


def _fewest(cuts: Sequence[TriedChange]) -> tuple[Carrier, ...]:
    """What is enough to be cut: single carriers where there are such, memory last; else all together.

    Several that are enough by themselves are links of one chain.
    """
    single = [one.change.cut[0] for one in cuts if len(one.change.cut) == 1]
    if not single:
        return cuts[0].change.cut
    registers = [one for one in single if one.kind is not CarrierKind.MEMORY]
    return tuple(registers or single)


def _is_between_accesses(tried: Sequence[TriedChange]) -> bool:
    """Whether loads wait for stores in a way that no store in between cuts: those before may alias, too."""
    alone = any(_vanishes(tried, kind) for kind in (ChangeKind.REPEATED, ChangeKind.UNLOCKED))
    return not alone and _vanishes(tried, ChangeKind.LOADS_FIRST)


def _is_front_end(tried: Sequence[TriedChange], slower: int) -> bool:
    """Whether instructions that take nothing but room make the slower tool's block take longer.

    They would hide beside whatever else takes as long.
    """
    if not slower:
        return False
    cycles = {one.change.kind: one.answers[slower - 1].cycles for one in tried}
    plain, padded = cycles.get(ChangeKind.REPEATED), cycles.get(ChangeKind.PADDED)
    if plain is None or padded is None:
        return False
    copies = tried[0].change.copies
    return (padded - plain) * copies >= _SEEN * NOPS / _WIDEST and padded - plain >= _LEAST_LONGER * plain
