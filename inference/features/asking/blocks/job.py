"""Runs that measure basic blocks on a machine: each result is told when it comes, and kept with the run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Protocol

from pydantic import Field

from inference.agent.protocol import Result, Settings
from inference.core.experiment import Experiment
from inference.core.protocols import Json
from inference.features.asking.blocks.values import StartedBlock, start_of, started_blocks, with_values
from inference.features.learning.inferring.request import read_machine
from inference.formats.run_archive.parts import read_strictly
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.start_values import StartValues
from inference.isa.timed_code import CodeTimer
from inference.isa.x86.availability import flags_of
from inference.isa.x86.blocks import Block, BlockError, block_of_hex
from inference.measuring.blocks import BlockMeasurer, BlockOptions, obstacle
from inference.measuring.remote import result_of
from inference.measuring.zero_counts import with_zero_counts
from inference.models import Machine, Run
from inference.runs.errors import ConfigError, JobError
from inference.runs.journal import Entry
from inference.runs.kinds import Store, Task
from inference.runs.machines.measurer import agent_board, simulated_machine
from inference.runs.request import RunRequest

MOST_BLOCKS = 500
"""In one run: its results travel with its row and its page."""


class MeasureBlocks(Protocol):
    """Measures blocks."""

    def __call__(
        self,
        blocks: Sequence[Block],
        mode: str = "",
        repeat: int = 0,
        *,
        latency_bound: Collection[int] = (),
        copies: int = 0,
        starts: Sequence[StartValues] = (),
    ) -> Iterator[tuple[int, Result]]:
        """(index, result) of every block; see `BlockMeasurer.measure`."""
        ...


_STAGE = "measuring"
_OPTIONS = BlockOptions.__dataclass_fields__


class BlockConfig(RunRequest):
    """What is measured where: `machine` is an id, `blocks` are machine code in hexadecimal digits.

    `options` are the fields of `BlockOptions`; `isa` is that of the machine. `values`: what single registers,
    or `vector`, `memory` and `masks`, start with instead. `repeat_values`: blocks are measured with other
    values that they may depend on, too.
    """

    noun = "a run over basic blocks"
    machine: int
    isa: str = ""
    blocks: Annotated[list[str], Field(min_length=1, max_length=MOST_BLOCKS)]
    options: Json = {}
    values: dict[str, int] = {}
    repeat_values: bool = False


def read_config(given: Json) -> BlockConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = BlockConfig.read(given)
    machine = read_machine("", config.machine)
    if hindered := obstacle_to_blocks(machine.name, machine.isa.name):
        raise ConfigError(hindered)
    options = read_options(config.options)
    start_of(options, config.values)
    found = {"isa": machine.isa.name, "blocks": read_blocks(config.blocks, options)}
    return config.model_copy(update=found | {"options": options.as_json()})


def read_options(given: Json) -> BlockOptions:
    """How blocks are surrounded. Raises `ConfigError`."""
    unknown = sorted(given.keys() - _OPTIONS.keys())
    if unknown:
        raise ConfigError(f"blocks have no option {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    options = BlockOptions(**given)
    for name, problem in options.problems().items():
        raise ConfigError(f"{name} {problem}")
    return options


def read_blocks(given: Sequence[str], options: BlockOptions) -> list[str]:
    """The blocks in hexadecimal digits. Raises `ConfigError` where not one can be measured."""
    blocks = [_block(number, code) for number, code in enumerate(given, start=1)]
    obstacles = [obstacle(block, options, None) for block in blocks]
    if all(obstacles):  # some among others are results of their own
        raise ConfigError(f"block 1 cannot be measured: {obstacles[0]}")
    return [block.hex for block in blocks]


def _block(number: int, code: str) -> Block:
    try:
        return block_of_hex(code)
    except BlockError as error:
        raise ConfigError(f"block {number}: {error}") from None


class BlockJob:
    """Runs of kind `block`; `BlockConfig` is their description."""

    short = False

    def check(self, config: Json) -> Json:
        """The description made complete."""
        return read_config(config).as_json()

    def submitted(self, run: Run) -> None:
        """Nothing refers to a run over blocks."""

    def work(self, task: Task) -> Store:
        """Measure, telling every result."""
        config = BlockConfig.stored(task.run.config)
        machine = Machine.objects.filter(pk=config.machine).select_related("isa").first()
        if machine is None:
            raise JobError("the machine that this run needs has been deleted")
        reporter = task.reporter
        reporter.tell("phase", {"name": _STAGE, "index": 1, "labels": [f"Measure on {machine.name}"]})
        blocks = [block_of_hex(code) for code in config.blocks]
        options = BlockOptions(**config.options)
        started = started_blocks(blocks, start_of(options, config.values), repeat=config.repeat_values)
        results: dict[int, Json] = {}
        with measuring_blocks(task, machine, options) as (identity, measure):
            starts = [entry.start for entry in started]
            for place, result in measure([blocks[entry.index] for entry in started], starts=starts):
                results[place] = _told(started[place].index, result)
                if place < len(blocks):
                    reporter.tell("block", results[place])
                _tell_progress(task, results, len(started))
                reporter.pulse()
        return partial(_store, task.run, _ordered(started, blocks, results), identity)


@contextmanager
def measuring_blocks(
    task: Task, machine: Machine, options: BlockOptions
) -> Iterator[tuple[Json, MeasureBlocks]]:
    """Who measures: its identity, and a function from blocks to (index, result)."""
    if machine.kind == Machine.Kind.SIMULATED:
        processor, known = simulated_machine(machine)

        def simulate(
            blocks: Sequence[Block],
            mode: str = "",
            repeat: int = 0,
            *,
            latency_bound: Collection[int] = (),
            copies: int = 0,
            starts: Sequence[StartValues] = (),
        ) -> Iterator[tuple[int, Result]]:
            # It has no loops, remembers nothing, and has no neighbours.
            del mode, repeat, latency_bound, copies
            for index, block in enumerate(blocks):
                unknown = block.unknown or [text for text, _ in block.terms if text not in known]
                if unknown:
                    note = f"has an instruction that the simulated processor does not know: {unknown[0]}"
                    yield index, Result("", "failed", note=note)
                else:
                    result = result_of("", next(iter(processor.measure([Experiment.of(dict(block.terms))]))))
                    start = starts[index] if starts else options.start
                    yield index, with_zero_counts(result, block, start, processor.zero_count_cycles)

        yield processor.identity, simulate
        return
    with _measurer(task, machine, options) as measurer:
        yield measurer.identity, measurer.measure


@contextmanager
def timing_codes(task: Task, machine: Machine) -> Iterator[tuple[Json, CodeTimer]]:
    """Who times code of our own on a machine with an agent, and its identity."""
    with _measurer(task, machine, BlockOptions()) as measurer:
        yield measurer.identity, measurer


@contextmanager
def _measurer(task: Task, machine: Machine, options: BlockOptions) -> Iterator[BlockMeasurer]:
    facts = machine.facts
    simulated = bool(facts.get("simulated"))
    if not simulated and not facts.get("blocks"):
        raise JobError(
            f"the agent of {machine.name} is too old for basic blocks: start the one this site offers"
        )
    with agent_board(task, machine) as (board, identity):
        flags = None if simulated else flags_of(facts)
        wide = simulated or bool(facts.get("wide_blocks"))
        x87 = simulated or bool(facts.get("x87_blocks"))
        clears_masks = simulated or bool(facts.get("clear_masks"))
        shares = bool(facts.get("latency_bound"))
        yield BlockMeasurer(
            board,
            identity,
            flags,
            Settings(),
            options,
            wide=wide,
            x87=x87,
            clears_masks=clears_masks,
            shares=shares,
        )


def _ordered(
    started: Sequence[StartedBlock], blocks: Sequence[Block], results: Mapping[int, Json]
) -> list[Json]:
    """The results of all blocks, each with those of the same block with other values."""
    complete = [
        with_values(results[place], blocks[entry.index], entry) for place, entry in enumerate(started)
    ]
    ordered = [
        result | {"hex": block.hex, "repeated": []} for result, block in zip(complete, blocks, strict=False)
    ]
    for result in complete[len(blocks) :]:
        ordered[result["index"]]["repeated"].append(result)
    return ordered


def _told(index: int, result: Result) -> Json:
    return {"index": index, **{k: v for k, v in result.as_json().items() if k != "id"}}


def _tell_progress(task: Task, results: dict[int, Json], total: int) -> None:
    states = [result["state"] for result in results.values()]
    counts = {state: states.count(state) for state in ("settled", "unsettled", "contended", "failed")}
    task.reporter.tell("experiments", {"asked": len(results), **counts})
    task.reporter.tell(
        "progress",
        {
            "phase": _STAGE,
            "done": len(results),
            "total": total,
            "rate": 0.0,
            "unit": "blocks",
            "eta": None if len(results) < total else 0.0,
        },
    )


def _store(run: Run, results: Sequence[Json], identity: Json) -> tuple[Json, Sequence[Entry]]:
    settled = sum(result["state"] == "settled" for result in results)
    made: Json = {"name": run.name, "blocks": list(results), "settled": settled, "identity": identity}
    text = f"{len(results)} basic blocks measured, {settled} of them settled"
    told: Json = {"name": run.name, "settled": settled}
    return made, [("log", {"level": "info", "text": text}), ("result", told)]


def archived(config: Json) -> Json:
    """The description of a run from elsewhere. Raises `ExchangeError` or `InvalidInputError`."""
    value = read_strictly(BlockConfig, config, "run.config")
    options = read_options(value.options)
    start_of(options, value.values)
    return dict(value.as_json()) | {
        "blocks": read_blocks(value.blocks, options),
        "options": options.as_json(),
    }
