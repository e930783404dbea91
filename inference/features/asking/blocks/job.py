"""Runs that measure basic blocks on a machine: each result is emitted as it arrives and stored with the
run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.agent.protocol import Result
from inference.core.events import Event, ExperimentsCounted, Log, PhaseStarted, Progress, ResultStored
from inference.core.protocols import Json
from inference.features.asking.blocks.events import MAX_BLOCKS, BlockMeasured
from inference.isa.blocks import block_of_hex, blocks_name, general_registers, isa_of_fields, reads_of
from inference.isa.code.block import Block, BlockError
from inference.isa.start_values import StartValues, repetitions
from inference.measuring.blocks import BlockOptions, obstacle
from inference.models import Machine, Run
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import open_block_measurer
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RunRequest, needed_row, settings_of
from inference.storage.instruction_sets import code_isa
from inference.storage.names import processor_name, result_name

_PATTERNS = ("vector", "memory")
_MASKS = "masks"
NAMES = (*general_registers(), *_PATTERNS, _MASKS)
"""Names in `values`: registers, the pattern of all vectors or of memory, and masks (0: zeros, 1: ones)."""


@dataclass(frozen=True)
class BlockStart:
    """A block of a run, by its index, and its start values; `label`: "" for the start values of the run."""

    index: int
    label: str
    start: StartValues


def start_of(options: BlockOptions, values: Mapping[str, int]) -> StartValues:
    """The start values of blocks: those of the options, replaced where `values` has one.

    Raises `ConfigError` for an unknown name, or a value that does not fit.
    """
    for name, value in values.items():
        if name not in NAMES:
            raise ConfigError(f"values: {name!r} is unknown; allowed are {', '.join(NAMES)}")
        maximum = 1 if name == _MASKS else 2**64 - 1
        if not 0 <= value <= maximum:
            raise ConfigError(f"values: {name} must be a whole number from 0 to {maximum:,}, not {value}")
    usual = options.start
    registers = {name: values.get(name, value) for name, value in usual.registers.items()}
    patterns = {name: values[name] for name in _PATTERNS if name in values}
    return replace(usual, registers=registers, masks=bool(values.get(_MASKS, 1)), **patterns)


def block_starts(blocks: Sequence[Block], start: StartValues, *, repeat: bool) -> list[BlockStart]:
    """Each block with the start values of the run; then, to `repeat`, with others that may change its
    time."""
    usual = [BlockStart(index, "", start) for index in range(len(blocks))]
    if not repeat:
        return usual
    return usual + [
        BlockStart(index, other.label, other.start)
        for index, block in enumerate(blocks)
        for other in repetitions(start, reads_of(block))
    ]


def with_values(result: Json, block: Block, start: BlockStart) -> Json:
    """The result with the label and the operand values that the block read."""
    return {**result, "values": start.label, "operands": reads_of(block).values(start.start)}


_STAGE = "measuring"


class BlockConfig(RunRequest):
    """The description of a run of kind `block`: `machine` is an id, `blocks` machine code in hexadecimal
    digits.

    `isa` is the instruction set of the machine. `values`: start values of single registers, or of `vector`,
    `memory` and `masks`. `repeat_values`: measure blocks again with values that may change their time.
    `offset`: bytes between the beginning of a cache line and the first copy; null leaves it to the harness.
    """

    noun = "a run over basic blocks"
    machine: int
    isa: str = ""
    blocks: Annotated[list[str], Field(min_length=1, max_length=MAX_BLOCKS)]
    options: Annotated[BlockOptions, settings_of(BlockOptions)] = BlockOptions()
    values: dict[str, int] = {}
    repeat_values: bool = False
    offset: Annotated[int, Field(ge=0, le=63)] | None = None


def read_config(description: Json) -> BlockConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = BlockConfig.read(description)
    machine = read_block_machine(config.machine)
    start_of(config.options, config.values)
    isa = code_isa(machine.isa)
    if config.isa and config.isa != isa:
        raise ConfigError(f"isa: {machine.name} measures blocks of {isa}, not of {config.isa}")
    checked = {"isa": isa, "blocks": read_blocks(config.blocks, config.options, isa)}
    return config.model_copy(update=checked)


def read_blocks(codes: Sequence[str], options: BlockOptions, isa: str) -> list[str]:
    """The blocks in canonical hexadecimal digits. Raises `ConfigError` if none of them can be measured."""
    blocks = [_block(number, code, isa) for number, code in enumerate(codes, start=1)]
    obstacles = [obstacle(block, options, None) for block in blocks]
    if all(obstacles):  # a block that cannot be measured beside others that can gets a failed result
        raise ConfigError(f"block 1 cannot be measured: {obstacles[0]}")
    return [block.hex for block in blocks]


def _block(number: int, code: str, isa: str) -> Block:
    try:
        return block_of_hex(code, isa)
    except BlockError as error:
        raise ConfigError(f"block {number}: {error}") from None


class BlockJob(Job):
    """Runs of kind `block`; `BlockConfig` is their description."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        return result_name(processor_name(config["machine"]), blocks_name(config["blocks"], config["isa"]))

    def work(self, task: Task) -> Store:
        config = BlockConfig.from_stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        reporter = task.reporter
        reporter.emit(PhaseStarted(_STAGE, 1, [f"Measure on {machine.name}"]))
        isa = isa_of_fields(task.run.config)
        blocks = [block_of_hex(code, isa) for code in config.blocks]
        options = config.options
        starts = block_starts(blocks, start_of(options, config.values), repeat=config.repeat_values)
        results: dict[int, Json] = {}
        with open_block_measurer(task, machine, options) as (identity, measure):
            start_values = [entry.start for entry in starts]
            started_blocks = [blocks[entry.index] for entry in starts]
            for place, result in measure(started_blocks, starts=start_values, offset=config.offset or 0):
                results[place] = _result_json(starts[place].index, result)
                if place < len(blocks):
                    reporter.emit(BlockMeasured(**results[place]))
                _report_progress(task, results, len(starts))
                reporter.pulse()
        return partial(_store, task.run, _with_repetitions(starts, blocks, results), identity)


MAX_QUICK_BLOCKS = 8
"""Blocks that are measured between the batches of longer runs: a second or two."""


class QuickBlockJob(BlockJob):
    """Runs of kind `quick-block`: few blocks, for which a user waits."""

    def check(self, config: Json) -> Json:
        checked = read_config(config)
        if len(checked.blocks) > MAX_QUICK_BLOCKS or checked.repeat_values:
            raise ConfigError(
                f"blocks: a quick measurement has at most {MAX_QUICK_BLOCKS} blocks, no repeated values: "
                "start a run of kind block"
            )
        return checked.as_json()


def _with_repetitions(
    starts: Sequence[BlockStart], blocks: Sequence[Block], results: Mapping[int, Json]
) -> list[Json]:
    """A result per block, with its repetitions with other start values under `repeated`."""
    complete = [with_values(results[place], blocks[entry.index], entry) for place, entry in enumerate(starts)]
    ordered = [
        result | {**block.name.as_json(), "repeated": []}
        for result, block in zip(complete, blocks, strict=False)
    ]
    for result in complete[len(blocks) :]:
        ordered[result["index"]]["repeated"].append(result)
    return ordered


def _result_json(index: int, result: Result) -> Json:
    return {"index": index, **{k: v for k, v in result.as_json().items() if k != "id"}}


def _report_progress(task: Task, results: dict[int, Json], total: int) -> None:
    states = [result["state"] for result in results.values()]
    counts = {state: states.count(state) for state in ("settled", "unsettled", "contended", "failed")}
    task.reporter.emit(ExperimentsCounted(len(results), **counts))
    eta = None if len(results) < total else 0.0
    task.reporter.emit(Progress(_STAGE, len(results), total, 0.0, "blocks", eta))


def _store(run: Run, results: Sequence[Json], identity: Json) -> tuple[Json, Sequence[Event]]:
    settled = sum(result["state"] == "settled" for result in results)
    stored: Json = {"name": run.name, "blocks": list(results), "settled": settled, "identity": identity}
    text = f"{len(results)} basic blocks measured, {settled} of them settled"
    summary: Json = {"name": run.name, "settled": settled}
    return stored, [Log("info", text), ResultStored(summary)]


def archived(config: Json) -> Json:
    """The description of a run from an archive. Raises `ExchangeError` or `InvalidInputError`."""
    value = BlockConfig.from_archive(config)
    start_of(value.options, value.values)
    return value.as_json() | {"blocks": read_blocks(value.blocks, value.options, isa_of_fields(config))}


JOBS = {"block": BlockJob, "quick-block": QuickBlockJob}
