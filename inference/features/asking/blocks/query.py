"""Basic blocks as pages show them: instructions, predictions, and what a run has measured so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, cast

from django.http import HttpRequest

from inference.core.core_model import Assumptions
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as MappingValue
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.features.asking.blocks.events import BlocksRecord
from inference.features.learning.core_model.query import BlockReason, reasons_of, usable_core_models
from inference.features.running.runs.kind_presentation import DescriptionItem, links
from inference.features.running.runs.record import RunRecord
from inference.isa.blocks import Block, block_of_hex, isa_beside
from inference.isa.blocks.frames import iteration_of
from inference.measuring.blocks import LOOP
from inference.models import ISA, Machine, PortMapping, Run
from inference.predictors.mapping import (
    iteration_terms,
    jump_schemes,
    loop_branch,
    with_branch_slot,
)
from inference.storage.core_models import fused_pairs
from inference.storage.instruction_sets import code_isa
from inference.storage.rows import ids_of_schemes, load_parts
from inference.web.validation import whole_number

MOST_MAPPINGS = 8
"""Predictions shown of one block, by the newest mappings that describe it."""


@dataclass(frozen=True)
class BlockPrediction:
    """Cycles per iteration that the ports of a mapping allow; dependencies are not seen."""

    mapping: PortMapping
    cycles: float


def scheme_rows(blocks: Sequence[Block], isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of all schemes that occur."""
    return ids_of_schemes(isa.pk, (text for block in blocks for text, _ in block.terms))


def predictions_of(blocks: Sequence[Block], isa: ISA, rows: Mapping[str, int]) -> list[list[BlockPrediction]]:
    """Of each block what the newest mappings say that describe all of its instructions; two queries."""
    jumps = ids_of_schemes(isa.pk, (text for block in blocks for text in jump_schemes(block)))
    known = load_parts(isa, {row: text for text, row in {**rows, **jumps}.items()})
    pairs_of = cache(fused_pairs)
    return [_predicted(block, known, pairs_of) for block in blocks]


def _predicted(
    block: Block,
    known: Sequence[tuple[PortMapping, MappingValue]],
    pairs_of: Callable[[int | None], frozenset[str] | None],
) -> list[BlockPrediction]:
    if block.unknown or not block.terms:
        return []
    describing = ((row, value) for row, value in known if all(text in value.usage for text, _ in block.terms))
    found = []
    for row, value in islice(describing, MOST_MAPPINGS):
        fused = None if block.closing is None else pairs_of(row.machine_id)
        terms = iteration_terms(block, loop_branch(block, value.usage, fused))
        found.append(BlockPrediction(row, inverse_throughput(with_branch_slot(value), Experiment.of(terms))))
    return found


MOST_BLOCKS = 500
"""In one run: its results travel with its row and its page."""


@dataclass(frozen=True)
class InstructionRow:
    """One instruction; `scheme_row` is None for a scheme that the site does not have."""

    hex: str
    text: str
    scheme: str | None
    scheme_row: int | None
    obstacle: str


@dataclass(frozen=True)
class BlockView:
    """A block; `result` is what a run says of it, {} while it has not come. `number` counts from 1."""

    number: int
    block: Block
    rows: tuple[InstructionRow, ...]
    predictions: Sequence[tuple[BlockPrediction, float | None]]
    """each with its difference from the measurement in per cent"""
    obstacle: str
    result: Json
    closed: str
    """how machines close a loop, "" of a straight block"""
    reason: BlockReason | None
    """by the newest core model, None where there is none"""


def shown(
    blocks: Sequence[Block],
    isa: ISA | None,
    results: Mapping[int, Json] | None = None,
    first: int = 1,
    *,
    mode: str,
) -> list[BlockView]:
    """Blocks numbered from `first`; `results` by these numbers, measured in a mode that the reasons share."""
    known = {} if isa is None else scheme_rows(blocks, isa)
    predicted = [[] for _ in blocks] if isa is None else predictions_of(blocks, isa, known)
    reasons = _reasons(blocks, mode)
    found = []
    together = zip(blocks, predicted, reasons, strict=True)
    for number, (block, predictions, reason) in enumerate(together, start=first):
        result = (results or {}).get(number, {})
        compared = [(each, _change(each.cycles, result)) for each in predictions]
        found.append(
            BlockView(
                number,
                block,
                rows_of(block, known),
                compared,
                block.obstacle(),
                result,
                "" if block.closing is None else iteration_of(block).words,
                reason,
            )
        )
    return found


def _reasons(blocks: Sequence[Block], mode: str) -> Sequence[BlockReason | None]:
    newest = usable_core_models().first() if blocks else None
    if newest is None or code_isa(newest.isa) != blocks[0].isa:
        return [None] * len(blocks)
    return reasons_of(blocks, newest, Assumptions(in_loop=mode == LOOP))


def rows_of(block: Block, known: Mapping[str, int]) -> tuple[InstructionRow, ...]:
    """The instructions, the jump that closes a loop last; `known`: {text of a scheme: its row id}."""
    rows = [
        InstructionRow(one.code.hex(), one.text, one.scheme, known.get(one.scheme or ""), one.obstacle)
        for one in block.instructions
    ]
    if block.closing is not None:
        rows.append(
            InstructionRow(
                block.closing.code.hex(), block.closing_text, None, None, "leads back to the beginning"
            )
        )
    return tuple(rows)


def _change(predicted: float, result: Json) -> float | None:
    """Prediction against measurement in per cent of the measurement, where that has settled."""
    measured = result.get("cycles")
    if result.get("state") != "settled" or not measured:
        return None
    return 100 * (predicted - float(measured)) / float(measured)


PAGE = 10
"""Blocks on one page, each with its instructions."""


def measured_blocks(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """The blocks of the page that the address asks for (`from`, counted from 1), with their results."""
    codes = run.config["blocks"]
    asked = (whole_number(request, "from", 1) or 1) - 1
    first = min(max(asked, 0), len(codes) - 1) // PAGE * PAGE
    measured = cast(BlocksRecord, record.parts["blocks"]).results
    results = {index + 1: event.payload() for index, event in measured.items()}
    for number, stored in enumerate(_stored_results(run), start=1):
        shapes = (("operands", dict), ("repeated", list))
        values = {name: stored[name] for name, shape in shapes if isinstance(stored.get(name), shape)}
        results[number] = {**results.get(number, {}), **values}
    set_name = isa_beside(run.config)
    page = [block_of_hex(code, set_name) for code in codes[first : first + PAGE]]
    isa = ISA.objects.filter(name=set_name).first()
    return {
        "blocks": shown(page, isa, results, first + 1, mode=run.config["options"]["mode"]),
        "block_count": len(codes),
        "previous_blocks": first - PAGE + 1 if first else None,
        "next_blocks": first + PAGE + 1 if first + PAGE < len(codes) else None,
        "options": run.config["options"],
        "ended": run.state in Run.FINAL,
    }


def _stored_results(run: Run) -> list[Json]:
    """Of every block; none of an archive in which they are something else."""
    found = (run.result or {}).get("blocks")
    return [each if isinstance(each, dict) else {} for each in found] if isinstance(found, list) else []


def block_words(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run that measures basic blocks, in words."""
    config, options = run.config, run.config["options"]
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield DescriptionItem("Basic blocks", f"{len(config['blocks']):,}")
    yield DescriptionItem("Copies", f"{options['mode']}, {options['copies'] or 'as many as usual'}")
    yield DescriptionItem("Registers start with", f"{options['registers']:#x}")
    yield DescriptionItem("Memory starts with", f"{options['memory']:#x}")
    values = ", ".join(f"{name} = {value:#x}" for name, value in config.get("values", {}).items())
    yield DescriptionItem("Other values", values or "none", usual=not values)
    repeats = config.get("repeat_values", False)
    yield DescriptionItem("Measured with other values, too", "yes" if repeats else "no", usual=not repeats)
    yield DescriptionItem("Pages of memory", f"at most {options['pages']:,}")
