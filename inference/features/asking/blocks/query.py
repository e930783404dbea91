"""Basic blocks for pages: their instructions, their predictions, and a run's measurements so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, cast

from django.http import HttpRequest

from inference.core.core_model.prediction import jump_schemes, loop_branch
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as MappingValue
from inference.core.protocols import Json
from inference.core.throughput import inverse_throughput
from inference.features.asking.blocks.events import BlocksRecord
from inference.features.asking.blocks.job import archived
from inference.features.asking.blocks.port_load import can_read_loops, loop_tab
from inference.features.asking.loop.answer import LoopAnswer, block_explanation
from inference.features.asking.loop.query import cpus
from inference.features.running.runs.kind_presentation import DescriptionItem, KindPresentation, links
from inference.features.running.runs.record import RunRecord
from inference.isa.blocks import block_of_hex, isa_of_fields, iteration_of
from inference.isa.code.block import Block
from inference.models import ISA, Machine, PortMapping, Run
from inference.predictors.mapping import iteration_terms, with_branch_slot
from inference.storage.core_models import fused_pairs
from inference.storage.mappings import load_parts
from inference.storage.rows import ids_of_schemes
from inference.web.contributions import PagePanel, PanelPlace
from inference.web.validation import number_parameter

MAX_MAPPINGS = 8
"""Predictions per block, by the newest mappings that describe all of it."""


@dataclass(frozen=True)
class BlockPrediction:
    """A mapping's port bound in cycles per iteration; dependencies are ignored."""

    mapping: PortMapping
    cycles: float


def scheme_rows(blocks: Sequence[Block], isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of all schemes in the blocks."""
    return ids_of_schemes(isa.pk, (text for block in blocks for text, _ in block.terms))


def predictions_of(blocks: Sequence[Block], isa: ISA, rows: Mapping[str, int]) -> list[list[BlockPrediction]]:
    """For each block, the predictions of the newest mappings that describe all its instructions (two
    queries)."""
    jumps = ids_of_schemes(isa.pk, (text for block in blocks for text in jump_schemes(block)))
    mappings = load_parts(isa, {row: text for text, row in {**rows, **jumps}.items()})
    pairs_of = cache(fused_pairs)
    return [_predict_blocks(block, mappings, pairs_of) for block in blocks]


def _predict_blocks(
    block: Block,
    mappings: Sequence[tuple[PortMapping, MappingValue]],
    pairs_of: Callable[[int | None], frozenset[str] | None],
) -> list[BlockPrediction]:
    if block.unknown or not block.terms:
        return []
    describing = (
        (row, value) for row, value in mappings if all(text in value.usage for text, _ in block.terms)
    )
    predictions = []
    for row, value in islice(describing, MAX_MAPPINGS):
        fused = None if block.closing is None else pairs_of(row.machine_id)
        terms = iteration_terms(block, loop_branch(block, value.usage, fused))
        predictions.append(
            BlockPrediction(row, inverse_throughput(with_branch_slot(value), Experiment.of(terms)))
        )
    return predictions


@dataclass(frozen=True)
class InstructionRow:
    """An instruction; `scheme_row` is the scheme's row id, None where the site does not have the scheme."""

    hex: str
    text: str
    scheme: str | None
    scheme_row: int | None
    obstacle: str


@dataclass(frozen=True)
class BlockView:
    """A block; `number` counts from 1, `result` is that of a run, {} before the block is measured."""

    number: int
    block: Block
    rows: tuple[InstructionRow, ...]
    predictions: Sequence[tuple[BlockPrediction, float | None]]
    """each with its difference from the measurement, in per cent of the measurement"""
    obstacle: str
    result: Json
    loop_treatment: str
    """how a machine measures a loop, in words; "" for a block without a jump"""
    explanation: LoopAnswer | None
    """by the first CPU's core model, None where there is no CPU"""


def block_views(
    blocks: Sequence[Block],
    isa: ISA | None,
    results: Mapping[int, Json] | None = None,
    first: int = 1,
    *,
    mode: str,
) -> list[BlockView]:
    """Views of blocks numbered from `first`; `results` by number; `mode`: of the measurements and the
    explanations."""
    scheme_ids = {} if isa is None else scheme_rows(blocks, isa)
    predicted = [[] for _ in blocks] if isa is None else predictions_of(blocks, isa, scheme_ids)
    choices = cpus(blocks[0].isa) if blocks else []
    views = []
    for number, (block, predictions) in enumerate(zip(blocks, predicted, strict=True), start=first):
        result = (results or {}).get(number, {})
        compared = [(prediction, _change(prediction.cycles, result)) for prediction in predictions]
        views.append(
            BlockView(
                number,
                block,
                rows_of(block, scheme_ids),
                compared,
                block.obstacle(),
                result,
                "" if block.closing is None else iteration_of(block).loop_note,
                block_explanation(block, mode, choices),
            )
        )
    return views


def rows_of(block: Block, scheme_ids: Mapping[str, int]) -> tuple[InstructionRow, ...]:
    """The instructions, and the branch of a loop as the last one; `scheme_ids`: {scheme text: row id}."""
    rows = [
        InstructionRow(
            instruction.code.hex(),
            instruction.text,
            instruction.scheme,
            scheme_ids.get(instruction.scheme or ""),
            instruction.obstacle,
        )
        for instruction in block.instructions
    ]
    if block.closing is not None:
        rows.append(InstructionRow(block.closing.code.hex(), block.closing_text, None, None, "loop branch"))
    return tuple(rows)


def _change(predicted: float, result: Json) -> float | None:
    """Prediction minus measurement in per cent of the measurement; None unless that has settled."""
    measured = result.get("cycles")
    if result.get("state") != "settled" or not measured:
        return None
    return 100 * (predicted - float(measured)) / float(measured)


PAGE = 10
"""Blocks per page."""


def measured_blocks(request: HttpRequest, run: Run, record: RunRecord) -> dict[str, Any]:
    """The context of a page of a run's blocks and results; `from` in the address: the first block, from 1."""
    codes = run.config["blocks"]
    requested = (number_parameter(request, "from", 1) or 1) - 1
    first = min(max(requested, 0), len(codes) - 1) // PAGE * PAGE
    measured = cast("BlocksRecord", record.parts["blocks"]).results
    results = {index + 1: event.payload() for index, event in measured.items()}
    for number, stored in enumerate(_stored_results(run), start=1):
        shapes = (("operands", dict), ("repeated", list))
        values = {name: stored[name] for name, shape in shapes if isinstance(stored.get(name), shape)}
        results[number] = {**results.get(number, {}), **values}
    set_name = isa_of_fields(run.config)
    page = [block_of_hex(code, set_name) for code in codes[first : first + PAGE]]
    isa = ISA.objects.filter(name=set_name).first()
    return {
        "blocks": block_views(page, isa, results, first + 1, mode=run.config["options"]["mode"]),
        "block_count": len(codes),
        "previous_blocks": first - PAGE + 1 if first else None,
        "next_blocks": first + PAGE + 1 if first + PAGE < len(codes) else None,
        "options": run.config["options"],
        "ended": run.state in Run.FINAL,
    }


def _stored_results(run: Run) -> list[Json]:
    """The stored result of every block; [] for an archive with another structure."""
    results = (run.result or {}).get("blocks")
    return (
        [result if isinstance(result, dict) else {} for result in results]
        if isinstance(results, list)
        else []
    )


def block_words(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run of kind `block`, item by item."""
    config, options = run.config, run.config["options"]
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    yield DescriptionItem("Basic blocks", f"{len(config['blocks']):,}")
    yield DescriptionItem("Copies", f"{options['mode']}, {options['copies'] or 'default number'}")
    yield DescriptionItem("Registers start with", f"{options['registers']:#x}")
    yield DescriptionItem("Memory starts with", f"{options['memory']:#x}")
    values = ", ".join(f"{name} = {value:#x}" for name, value in config.get("values", {}).items())
    yield DescriptionItem("Other values", values or "none", usual=not values)
    repeats = config.get("repeat_values", False)
    yield DescriptionItem("Repeated with other values", "yes" if repeats else "no", usual=not repeats)
    yield DescriptionItem("Pages of memory", f"at most {options['pages']:,}")


PRESENTATIONS = {
    "block": KindPresentation(words=block_words, page=measured_blocks, archived=archived),
    "quick-block": KindPresentation(words=block_words, page=measured_blocks),
}
RECORDS = {"blocks": BlocksRecord}
PANELS = (
    PagePanel(
        PanelPlace.MAPPING,
        "loop",
        "Try a loop",
        "inference/blocks/mapping_tab.html",
        lambda request, subject: loop_tab(request, subject.row),
        order=30,
        applies=lambda subject: can_read_loops(subject.row),
        styles=("css/basic-blocks.css", "css/resources.css"),
        scripts=("js/buckets.js",),
    ),
)
