"""Runs that measure basic blocks on a machine: each result is told when it comes, and kept with the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from pydantic import Field

from inference.agent.protocol import Result
from inference.core.events import Event, ExperimentsCounted, Log, PhaseStarted, Progress, ResultStored
from inference.core.protocols import Json
from inference.features.asking.blocks.events import BlockMeasured
from inference.features.asking.blocks.query import MOST_BLOCKS
from inference.isa.blocks import Block, BlockError, block_of_hex, general_registers, isa_beside
from inference.isa.blocks.accesses import reads_of
from inference.isa.start_values import StartValues, repetitions
from inference.measuring.blocks import BlockOptions, obstacle
from inference.models import Machine, Run
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import measuring_blocks
from inference.runs.machines.facts import read_block_machine
from inference.runs.request import RunRequest, needed_row, settings_of
from inference.storage.instruction_sets import code_isa

_PATTERNS = ("vector", "memory")
_MASKS = "masks"
NAMES = (*general_registers(), *_PATTERNS, _MASKS)
"""What can be given a value: registers, the pattern of all vectors or memory, masks (0, or 1 for ones)."""


@dataclass(frozen=True)
class StartedBlock:
    """A block of a run, by its index, to be measured with these values; `label` is "" for the run's own."""

    index: int
    label: str
    start: StartValues


def start_of(options: BlockOptions, values: Mapping[str, int]) -> StartValues:
    """What blocks start with: the values of the options, but for those that are named.

    Raises `ConfigError`.
    """
    for name, value in values.items():
        if name not in NAMES:
            raise ConfigError(f"values: {name!r} cannot be given a value; {', '.join(NAMES)} can")
        most = 1 if name == _MASKS else 2**64 - 1
        if not 0 <= value <= most:
            raise ConfigError(f"values: {name} must be a whole number from 0 to {most:,}, not {value}")
    usual = options.start
    registers = {name: values.get(name, value) for name, value in usual.registers.items()}
    patterns = {name: values[name] for name in _PATTERNS if name in values}
    return replace(usual, registers=registers, masks=bool(values.get(_MASKS, 1)), **patterns)


def started_blocks(blocks: Sequence[Block], start: StartValues, *, repeat: bool) -> list[StartedBlock]:
    """All blocks with the values of the run, then, to `repeat`, with others that they may depend on."""
    usual = [StartedBlock(index, "", start) for index in range(len(blocks))]
    if not repeat:
        return usual
    return usual + [
        StartedBlock(index, other.label, other.start)
        for index, block in enumerate(blocks)
        for other in repetitions(start, reads_of(block))
    ]


def with_values(result: Json, block: Block, started: StartedBlock) -> Json:
    """A result with the values that the block read."""
    return {**result, "values": started.label, "operands": reads_of(block).values(started.start)}


_STAGE = "measuring"


class BlockConfig(RunRequest):
    """What is measured where: `machine` is an id, `blocks` are machine code in hexadecimal digits.

    `isa` is the instruction set of the machine. `values`: what single registers, or `vector`, `memory` and
    `masks`, start with instead. `repeat_values`: blocks are measured with other values that they may depend
    on, too.
    """

    noun = "a run over basic blocks"
    machine: int
    isa: str = ""
    blocks: Annotated[list[str], Field(min_length=1, max_length=MOST_BLOCKS)]
    options: Annotated[BlockOptions, settings_of(BlockOptions)] = BlockOptions()
    values: dict[str, int] = {}
    repeat_values: bool = False


def read_config(given: Json) -> BlockConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = BlockConfig.read(given)
    machine = read_block_machine(config.machine)
    start_of(config.options, config.values)
    isa = code_isa(machine.isa)
    if config.isa and config.isa != isa:
        raise ConfigError(f"isa: {machine.name} measures blocks of {isa}, not of {config.isa}")
    found = {"isa": isa, "blocks": read_blocks(config.blocks, config.options, isa)}
    return config.model_copy(update=found)


def read_blocks(given: Sequence[str], options: BlockOptions, isa: str) -> list[str]:
    """The blocks in hexadecimal digits. Raises `ConfigError` where not one can be measured."""
    blocks = [_block(number, code, isa) for number, code in enumerate(given, start=1)]
    obstacles = [obstacle(block, options, None) for block in blocks]
    if all(obstacles):  # some among others are results of their own
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

    def work(self, task: Task) -> Store:
        config = BlockConfig.stored(task.run.config)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        reporter = task.reporter
        reporter.emit(PhaseStarted(_STAGE, 1, [f"Measure on {machine.name}"]))
        isa = isa_beside(task.run.config)
        blocks = [block_of_hex(code, isa) for code in config.blocks]
        options = config.options
        started = started_blocks(blocks, start_of(options, config.values), repeat=config.repeat_values)
        results: dict[int, Json] = {}
        with measuring_blocks(task, machine, options) as (identity, measure):
            starts = [entry.start for entry in started]
            for place, result in measure([blocks[entry.index] for entry in started], starts=starts):
                results[place] = _told(started[place].index, result)
                if place < len(blocks):
                    reporter.emit(BlockMeasured(**results[place]))
                _tell_progress(task, results, len(started))
                reporter.pulse()
        return partial(_store, task.run, _ordered(started, blocks, results), identity)


def _ordered(
    started: Sequence[StartedBlock], blocks: Sequence[Block], results: Mapping[int, Json]
) -> list[Json]:
    """The results of all blocks, each with those of the same block with other values."""
    complete = [
        with_values(results[place], blocks[entry.index], entry) for place, entry in enumerate(started)
    ]
    ordered = [
        result | {**block.name.as_json(), "repeated": []}
        for result, block in zip(complete, blocks, strict=False)
    ]
    for result in complete[len(blocks) :]:
        ordered[result["index"]]["repeated"].append(result)
    return ordered


def _told(index: int, result: Result) -> Json:
    return {"index": index, **{k: v for k, v in result.as_json().items() if k != "id"}}


def _tell_progress(task: Task, results: dict[int, Json], total: int) -> None:
    states = [result["state"] for result in results.values()]
    counts = {state: states.count(state) for state in ("settled", "unsettled", "contended", "failed")}
    task.reporter.emit(ExperimentsCounted(len(results), **counts))
    eta = None if len(results) < total else 0.0
    task.reporter.emit(Progress(_STAGE, len(results), total, 0.0, "blocks", eta))


def _store(run: Run, results: Sequence[Json], identity: Json) -> tuple[Json, Sequence[Event]]:
    settled = sum(result["state"] == "settled" for result in results)
    made: Json = {"name": run.name, "blocks": list(results), "settled": settled, "identity": identity}
    text = f"{len(results)} basic blocks measured, {settled} of them settled"
    told: Json = {"name": run.name, "settled": settled}
    return made, [Log("info", text), ResultStored(told)]


def archived(config: Json) -> Json:
    """The description of a run from elsewhere. Raises `ExchangeError` or `InvalidInputError`."""
    value = BlockConfig.archived(config)
    start_of(value.options, value.values)
    return value.as_json() | {"blocks": read_blocks(value.blocks, value.options, isa_beside(config))}
