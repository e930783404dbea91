"""What if: a loop beside an earlier version, without a dependence, unrolled, or on another CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from django.http import HttpRequest

from inference.core.loop.values import Changes, CycleRange, LoopAnalysis
from inference.features.asking.loop.answer import LoopAnswer, answer_of
from inference.features.asking.loop.dependency_graph import removed_dependences, unchanged_analysis
from inference.features.asking.loop.measured import (
    alignment_context,
    measuring_machine,
    question_about,
)
from inference.features.asking.loop.query import LoopCpu, analysis_of, chosen_cpu, cpus
from inference.figures.dependency_graph import edge_text
from inference.isa.blocks import accesses_of, block_of_bytes, block_reader
from inference.isa.code.block import Block, BlockError
from inference.measuring.blocks import LOOP
from inference.web.contributions import Context

UNROLLINGS = (1, 2, 4, 8)
_SAME = 0.005
"""Cycles by which versions may differ and count as equal."""


@dataclass(frozen=True)
class LoopVersion:
    """A version to compare. `iterations`: of the loop itself, in one iteration of the analysis."""

    label: str
    analysis: LoopAnalysis
    note: str = ""
    iterations: int = 1

    def cycles_of(self, cycles: CycleRange) -> CycleRange:
        """A range per iteration of the loop itself."""
        high = None if cycles.high is None else cycles.high / self.iterations
        return CycleRange(cycles.low / self.iterations, high)


@dataclass(frozen=True)
class ComparedCell:
    """Cycles of a version, "" where it has none.

    Attributes:
        difference: From the first version, None where unknown.
        limits: Whether no bound of the version is larger.
    """

    text: str
    difference: float | None = None
    limits: bool = False

    @property
    def change(self) -> str:
        """`+1.50`, `−1.50`, `=`; "" where it is unknown."""
        if self.difference is None:
            return ""
        if abs(self.difference) < _SAME:
            return "="
        return f"{'+' if self.difference > 0 else '−'}{abs(self.difference):.2f}"


@dataclass(frozen=True)
class ComparedRow:
    """A bound, or the prediction, of all versions."""

    label: str
    cells: tuple[ComparedCell, ...]


@dataclass(frozen=True)
class CodePair:
    """A line of both versions; None where one has no such line."""

    before: str | None
    after: str | None

    @property
    def is_changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True)
class WhatIfView:
    """The section *What if*.

    Args:
        versions: The first is what the others are compared with.
        rows: The prediction, then each bound.
        code: Both versions of the code, side by side; empty unless there is an earlier one.
        problems: Why a version cannot be shown, as sentences.
        unrollings: (factor, page with it), empty for a block that is no loop.
        other_cpus: CPUs to compare with.
        loads: The page where the latencies given for loads count or not; "" without any.
    """

    versions: tuple[LoopVersion, ...]
    rows: tuple[ComparedRow, ...]
    code: tuple[CodePair, ...]
    problems: tuple[str, ...]
    unrollings: tuple[tuple[int, str], ...]
    other_cpus: tuple[LoopCpu, ...]
    loads: str


def comparison_context(_request: HttpRequest, answer: LoopAnswer) -> Context:
    question = answer.question
    choices = cpus(question.isa)
    versions, earlier, problems = compared(answer, choices)
    closes = answer.block.closing is not None
    has_latencies = bool(answer.piece.latencies)
    view = WhatIfView(
        tuple(versions),
        tuple(_rows(versions)) if len(versions) > 1 else (),
        () if earlier is None else tuple(side_by_side(_lines(earlier.block), _lines(answer.block))),
        tuple(problems),
        tuple((factor, question.address(unroll=factor)) for factor in UNROLLINGS) if closes else (),
        tuple(cpu for cpu in choices if cpu.name != answer.cpu.name),
        question.address(loads="" if question.loads else "hit") if has_latencies else "",
    )
    machine = measuring_machine(answer) if question.mode == LOOP else None
    alignment = {} if machine is None else alignment_context(question_about(answer), machine)
    return {
        **alignment,
        "comparison": view,
        "keep": question.address(before=question.code),
        "drop": question.address(before=""),
    }


def compared(
    answer: LoopAnswer, choices: Sequence[LoopCpu]
) -> tuple[list[LoopVersion], LoopAnswer | None, list[str]]:
    """The versions of a loop, the answer for its earlier code, and what cannot be compared, as sentences."""
    problems: list[str] = []
    earlier = _earlier(answer, choices, problems)
    versions = [*_versions_of_code(answer, earlier), *_unrolled_version(answer, problems)]
    versions += _other_version(answer, choices, problems)
    return versions, earlier, problems


def _earlier(answer: LoopAnswer, choices: Sequence[LoopCpu], problems: list[str]) -> LoopAnswer | None:
    """The answer for the earlier version of the code."""
    question = answer.question
    if not question.before.strip():
        return None
    changes = {"code": question.before, "cpu": answer.cpu.name, "without": "", "loads": ""}
    try:
        return answer_of(question.model_copy(update=changes), choices)
    except BlockError as error:
        problems.append(f"Version A cannot be read: {error}.")
        return None


def _versions_of_code(answer: LoopAnswer, earlier: LoopAnswer | None) -> Iterator[LoopVersion]:
    unchanged = unchanged_analysis(answer)
    removed = removed_dependences(answer, unchanged)
    words = [f"without {edge_text(edge)}" for edge in removed]
    if answer.changes.loads_hit and answer.piece.latencies:
        words.append("all loads hit")
    if earlier is not None:
        yield LoopVersion("A: before", earlier.analysis)
        yield LoopVersion("B: now", answer.analysis, ", ".join(words))
        return
    yield LoopVersion("As it is", unchanged)
    if words:
        yield LoopVersion(", ".join(words).capitalize(), answer.analysis)


def _unrolled_version(answer: LoopAnswer, problems: list[str]) -> Iterator[LoopVersion]:
    factor = answer.question.unroll
    if factor == 1 or answer.block.closing is None:
        return
    try:
        block, order = unrolled(answer.block, factor)
    except BlockError as error:
        problems.append(f"Unrolled ×{factor}: {error}.")
        return
    latencies = answer.changes.latencies
    own_latencies = {place: latencies[origin] for place, origin in enumerate(order) if origin in latencies}
    changes = Changes(loads_hit=answer.changes.loads_hit, latencies=own_latencies)
    analysis = analysis_of(block, answer.cpu.row, answer.assumed, changes)
    yield LoopVersion(f"Unrolled ×{factor}", analysis, "per original iteration", factor)


def _other_version(
    answer: LoopAnswer, choices: Sequence[LoopCpu], problems: list[str]
) -> Iterator[LoopVersion]:
    name = answer.question.other
    if not name or name == answer.cpu.name:
        return
    cpu = chosen_cpu(choices, name)
    if cpu is None:
        problems.append(f"There is no core model {name!r} to compare with.")
        return
    yield LoopVersion(cpu.label, analysis_of(answer.block, cpu.row, answer.assumed, answer.changes))


def unrolled(block: Block, copies: int) -> tuple[Block, list[int]]:
    """A loop with several copies of its body, and the instruction of the loop that each of them is.

    A comparison that only the closing jump reads stays in the last copy alone. Addresses relative to the
    instruction pointer lead elsewhere in each copy.

    Raises:
        BlockError: It is no loop, or becomes too long.
    """
    if block.closing is None:
        raise BlockError("code without a jump is not unrolled")
    places = list(range(len(block.instructions)))
    reads_flags = any(instruction.only_compares for instruction in accesses_of(block)[-1:])
    inner = places[:-1] if reads_flags and len(places) > 1 else places
    order = inner * (copies - 1) + places
    body = b"".join(block.instructions[place].code for place in order)
    code = block_reader(block.isa).close_loop(body, block.closing.code)
    if code is None:
        raise BlockError(f"{block.closing_text.partition(' ')[0]} cannot jump back so far")
    return block_of_bytes(code, block.isa), order


def _rows(versions: Sequence[LoopVersion]) -> Iterator[ComparedRow]:
    totals = [(version.cycles_of(version.analysis.cycles), version.analysis.usual) for version in versions]
    yield _row("Prediction", versions, totals)
    kinds = dict.fromkeys(bound.kind for version in versions for bound in version.analysis.bounds)
    for kind in kinds:
        bounds = [
            next((bound for bound in version.analysis.bounds if bound.kind == kind), None)
            for version in versions
        ]
        cells = [
            None if bound is None else (version.cycles_of(bound.cycles), bound.usual)
            for version, bound in zip(versions, bounds, strict=True)
        ]
        yield _row(kind.capitalize(), versions, cells)
    if any(version.analysis.simulated is not None for version in versions):
        simulated = [version.analysis.simulated for version in versions]
        cells = [
            None if cycles is None else (version.cycles_of(CycleRange(cycles, cycles)), cycles)
            for version, cycles in zip(versions, simulated, strict=True)
        ]
        yield _row("Simulated scheduler", versions, cells)


def _row(
    label: str, versions: Sequence[LoopVersion], cells: Sequence[tuple[CycleRange, float] | None]
) -> ComparedRow:
    """A row. `cells`: the range per iteration of the loop, and the most likely cycles of the analysis."""
    likely = [
        None if cell is None else cell[1] / version.iterations
        for version, cell in zip(versions, cells, strict=True)
    ]
    first = likely[0]
    compared = []
    for place, (version, cell, cycles) in enumerate(zip(versions, cells, likely, strict=True)):
        if cell is None or cycles is None:
            compared.append(ComparedCell(""))
            continue
        largest = version.analysis.usual / version.iterations
        difference = None if place == 0 or first is None else cycles - first
        likely_text = f", likely {cycles:.2f}" if cycles > cell[0].low + _SAME else ""
        compared.append(
            ComparedCell(cell[0].text + likely_text, difference, bool(cycles) and cycles > largest - _SAME)
        )
    return ComparedRow(label, tuple(compared))


def _lines(block: Block) -> list[str]:
    return [text for _, text in block.listing]


def side_by_side(before: Sequence[str], after: Sequence[str]) -> Iterator[CodePair]:
    """The lines of both versions, equal ones beside each other."""
    for kind, start, end, other_start, other_end in SequenceMatcher(None, before, after, False).get_opcodes():
        old_lines, new_lines = before[start:end], after[other_start:other_end]
        if kind == "equal":
            yield from (CodePair(line, line) for line in old_lines)
            continue
        for number in range(max(len(old_lines), len(new_lines))):
            yield CodePair(
                old_lines[number] if number < len(old_lines) else None,
                new_lines[number] if number < len(new_lines) else None,
            )
