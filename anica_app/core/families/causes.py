"""Causes of a disagreement, derived from the tools' answers for changed blocks: the dependency, and the
bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from anica_app.core.search.interestingness import DIFFERENCE
from inference.core.protocols import Json
from inference.isa.block_changes import (
    NOPS_PER_BLOCK,
    BlockChange,
    Carrier,
    CarrierKind,
    CarrierRole,
    ChangedBlock,
    ChangeKind,
)
from inference.isa.blocks import BlockError, changed_block
from inference.isa.targets import DEFAULT
from inference.predictors.protocol import Answer

Answers = tuple[Answer, ...]
Query = Callable[[Sequence[bytes]], Sequence[Answers]]
"""The answers of all tools for each block, in order."""


REMAINING = 0.5
"""Share of a difference that may remain where a change counts as making it vanish."""

_WIDEST = 8  # instructions that any core takes in within a cycle
_FRONT_END_SHARE = 0.8  # of what they take at least
_MIN_SLOWDOWN = 0.04  # of a block's time: measurements differ by less from one time to the next


_TO_EASE = frozenset((ChangeKind.CUT_EVERYWHERE, ChangeKind.CUT_SINGLE_EVERYWHERE, ChangeKind.REGISTERS))
"""Changes in every copy, which may hide a difference by what they cost: they count only if the slower tool
predicts less."""


class DifferingBound(StrEnum):
    """The bound of a block's time that the tools compute differently."""

    PORTS = "ports"
    SLOTS = "slots"
    DEPENDENCIES = "dependencies"
    MEMORY = "memory"
    FRONT_END = "front end"
    FAILURE = "failure"
    UNKNOWN = "unknown"


class ChainKind(StrEnum):
    """What the slower tool alone treats as a link in a dependency chain."""

    PLAIN = ""
    """Nothing but instructions, which take it longer."""
    LOAD = "load"
    """A load whose address is known all the time: with registers in its place the tools agree."""
    RESULT = "result"
    """A register that is only written, as if it were read: a false dependency."""


@dataclass(frozen=True, slots=True)
class DisagreementWitness:
    """A block that shows a discovery, which has this number; `kind` is the way in which it is interesting."""

    number: int
    code: bytes
    kind: str


@dataclass(frozen=True, slots=True)
class TriedChange:
    """A change of a witness, and the tools' answers per copy of the block.

    `vanishes`: at most the share `REMAINING` of the difference is left.
    """

    change: BlockChange
    answers: Answers
    vanishes: bool

    def as_json(self) -> Json:
        """The change and its answers, as a family's facts store them."""
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

    Attributes:
        answers: For the unchanged block.
        slower: The tool, from 1, with more cycles; 0 where one fails.
        carriers: Registers, flags or memory whose cut makes the disagreement vanish, or eases it for
            `ChainKind.LOAD`.
    """

    bound: DifferingBound
    answers: Answers
    slower: int = 0
    carriers: tuple[Carrier, ...] = ()
    tried: tuple[TriedChange, ...] = ()
    chain: ChainKind = ChainKind.PLAIN


@dataclass(frozen=True)
class ToolAccess:
    """Access to the tools.

    Attributes:
        ask: Their answers.
        executes: One of them executes blocks.
        named_bound: The bound that a core model among them names in its answers, "" for none.
        isa: The instruction set of their blocks.
    """

    ask: Query
    executes: bool = False
    named_bound: Callable[[Answers], str] = lambda answers: ""
    isa: str = DEFAULT


def causes_of(
    witnesses: Sequence[DisagreementWitness], world: ToolAccess, questions: int
) -> tuple[dict[int, WitnessCause], int]:
    """The cause of each witness by number, and the number of questions used.

    The questions are a function of the witnesses and the answers. A witness without questions left has the
    bound `UNKNOWN`. The unchanged witnesses are not counted as questions.

    Args:
        witnesses: Most important first.
        world: Access to the tools.
        questions: Largest number of changed blocks to ask about.
    """
    answered = dict(zip(witnesses, world.ask([witness.code for witness in witnesses]), strict=True))
    changeable: list[tuple[DisagreementWitness, ChangedBlock, list[BlockChange]]] = []
    used = 0
    for witness in witnesses:
        block = _changeable_block(witness, world)
        changes = [] if block is None else block.initial_changes()
        if block is not None and used + len(changes) <= questions:
            used += len(changes)
            changeable.append((witness, block, changes))
    initial = [(witness, change) for witness, _, changes in changeable for change in changes]
    first = _try_changes(world, answered, initial)
    closer: list[tuple[DisagreementWitness, BlockChange]] = []
    for witness, block, _ in changeable:
        is_cut = _vanishes(first[witness.number], ChangeKind.CUT_ALL)
        repeats = _vanishes(first[witness.number], ChangeKind.REPEATED)
        for changes in (
            block.single_cuts() if is_cut else block.loads_before_stores(),
            [] if is_cut or repeats else block.cut_everywhere(),
            [] if repeats else block.registers_for_loads(),
        ):
            if used + len(changes) <= questions:
                used += len(changes)
                closer += [(witness, change) for change in changes]
    second = _try_changes(world, answered, closer)
    closest: list[tuple[DisagreementWitness, BlockChange]] = []
    for witness, block, _ in changeable:
        is_cut = _vanishes(second.get(witness.number, ()), ChangeKind.CUT_EVERYWHERE)
        changes = block.single_cuts_everywhere() if is_cut else []
        if used + len(changes) <= questions:
            used += len(changes)
            closest += [(witness, change) for change in changes]
    third = _try_changes(world, answered, closest)
    causes = {}
    for witness in witnesses:
        tried = tuple(trial for round_ in (first, second, third) for trial in round_.get(witness.number, ()))
        causes[witness.number] = _conclude(witness, answered[witness], tried, world)
    return causes, used


def _changeable_block(witness: DisagreementWitness, world: ToolAccess) -> ChangedBlock | None:
    """The block to change; None where changes would show nothing.

    That is so for another kind of disagreement, and without a block.
    """
    if witness.kind != DIFFERENCE:
        return None
    try:
        return changed_block(witness.code, executes=world.executes, isa=world.isa)
    except BlockError:
        return None


def _try_changes(
    world: ToolAccess,
    answered: Mapping[DisagreementWitness, Answers],
    changes: Sequence[tuple[DisagreementWitness, BlockChange]],
) -> dict[int, list[TriedChange]]:
    """The trials of all changes, by the number of the witness, in one request."""
    trials: dict[int, list[TriedChange]] = {}
    answers = world.ask([change.code for _, change in changes]) if changes else []
    for (witness, change), changed_answers in zip(changes, answers, strict=True):
        scaled = tuple(_answer_per_copy(answer, change.copies) for answer in changed_answers)
        remaining, before = _difference(scaled), _difference(answered[witness])
        vanishes = remaining is not None and before is not None and remaining <= REMAINING * before
        if change.kind in _TO_EASE:
            vanishes = vanishes and _eases(answered[witness], scaled)
        trials.setdefault(witness.number, []).append(TriedChange(change, scaled, vanishes))
    return trials


def _answer_per_copy(answer: Answer, copies: int) -> Answer:
    return answer if answer.cycles is None else Answer(cycles=answer.cycles / copies)


def _difference(answers: Answers) -> float | None:
    """The difference of two tools in cycles; None where one has no number."""
    cycles = [answer.cycles for answer in answers if answer.cycles is not None]
    return abs(cycles[0] - cycles[1]) if len(cycles) == len(answers) == 2 else None


def _eases(before: Answers, after: Answers) -> bool:
    """Whether the slower tool gains: what cuts everywhere may hide a difference by its own cost, too."""
    slower, apart = slower_of(before), _difference(before)
    if not slower or apart is None:
        return False
    then, now = before[slower - 1].cycles, after[slower - 1].cycles
    return then is not None and now is not None and then - now >= (1 - REMAINING) * apart


def _chain_of(carriers: Sequence[Carrier]) -> ChainKind:
    registers = [carrier.role for carrier in carriers if carrier.kind is CarrierKind.REGISTER]
    false = bool(registers) and all(role is CarrierRole.RESULT for role in registers)
    return ChainKind.RESULT if false else ChainKind.PLAIN


def _eases_by_full_cut(tried: TriedChange, before: Answers) -> bool:
    """Whether all dependencies were cut at once, and the slower tool gains by it."""
    return tried.change.kind in (ChangeKind.CUT_ALL, ChangeKind.CUT_EVERYWHERE) and _eases(
        before, tried.answers
    )


def _vanishes(tried: Sequence[TriedChange], kind: ChangeKind) -> bool:
    return any(trial.vanishes for trial in tried if trial.change.kind is kind)


def _conclude(
    witness: DisagreementWitness, answers: Answers, tried: tuple[TriedChange, ...], world: ToolAccess
) -> WitnessCause:
    """The cause that the tried changes show, the most specific first.

    Memory places, then dependencies that vanish when cut, then the bound that a tool names, then the
    front end; what is left is ports.
    """
    if witness.kind != DIFFERENCE:
        return WitnessCause(DifferingBound.FAILURE, answers)
    slower = slower_of(answers)
    named_bound = world.named_bound(answers)
    if _is_between_accesses(tried):
        all_cuts = next((t.change.cut for t in tried if t.change.kind is ChangeKind.CUT_ALL), ())
        places = tuple(carrier for carrier in all_cuts if carrier.kind is CarrierKind.MEMORY)
        return WitnessCause(DifferingBound.MEMORY, answers, slower, places, tried)
    # Where copies alone make it vanish, cutting them says nothing. Where registers in place of loads do so,
    # a cut need only make the slower tool faster: the loads that are left may still differ.
    loads = _vanishes(tried, ChangeKind.REGISTERS)
    cuts = [t for t in tried if t.change.cut and (t.vanishes or (loads and _eases_by_full_cut(t, answers)))]
    if cuts and not _vanishes(tried, ChangeKind.REPEATED):
        carriers = _fewest(cuts)
        memory = all(carrier.kind is CarrierKind.MEMORY for carrier in carriers)
        bound = DifferingBound.MEMORY if memory else DifferingBound.DEPENDENCIES
        chain = ChainKind.PLAIN if memory else ChainKind.LOAD if loads else _chain_of(carriers)
        return WitnessCause(bound, answers, slower, carriers, tried, chain)
    if named_bound:
        return WitnessCause(DifferingBound(named_bound), answers, slower, (), tried)
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
    """The carriers that must be cut: single sufficient ones if there are any.

    Memory counts only if no register is among them.

    Several sufficient carriers are links of one chain.
    """
    single = [cut.change.cut[0] for cut in cuts if len(cut.change.cut) == 1]
    if not single:
        return cuts[0].change.cut
    registers = [carrier for carrier in single if carrier.kind is not CarrierKind.MEMORY]
    return tuple(registers or single)


def _is_between_accesses(tried: Sequence[TriedChange]) -> bool:
    """Whether loads wait for stores in a way that no store in between cuts: those before may alias, too."""
    alone = any(_vanishes(tried, kind) for kind in (ChangeKind.REPEATED, ChangeKind.UNLOCKED))
    return not alone and _vanishes(tried, ChangeKind.LOADS_FIRST)


def _is_front_end(tried: Sequence[TriedChange], slower: int) -> bool:
    """Whether no-ops make the slower tool's block slower.

    They only use front-end slots, and would hide behind any other bound.
    """
    if not slower:
        return False
    cycles = {trial.change.kind: trial.answers[slower - 1].cycles for trial in tried}
    plain, padded = cycles.get(ChangeKind.REPEATED), cycles.get(ChangeKind.PADDED)
    if plain is None or padded is None:
        return False
    copies = tried[0].change.copies
    longer = padded - plain
    threshold = _FRONT_END_SHARE * NOPS_PER_BLOCK / _WIDEST
    return longer * copies >= threshold and longer >= _MIN_SLOWDOWN * plain
