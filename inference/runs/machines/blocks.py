"""Measuring basic blocks and generated code on a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from inference.agent.protocol import Result, Settings
from inference.core.experiment import Experiment
from inference.core.protocols import Json
from inference.isa.blocks import Block
from inference.isa.front_end import CodeTimer
from inference.isa.microarchitecture import flags_of
from inference.isa.start_values import StartValues
from inference.measuring.blocks import BlockMeasurer, BlockOptions
from inference.measuring.remote import result_of
from inference.measuring.simulated_agent import with_zero_counts
from inference.models import Machine
from inference.runs.errors import JobError
from inference.runs.kinds import Task
from inference.runs.machines.measurer import agent_board, simulated_machine

MeasureBlocks = Callable[..., Iterator[tuple[int, Result]]]
"""Yields (index, result) of every block; has the signature of `BlockMeasurer.measure`."""


@contextmanager
def open_block_measurer(
    task: Task, machine: Machine, options: BlockOptions
) -> Iterator[tuple[Json, MeasureBlocks]]:
    """Open a measurer of basic blocks for a run.

    Args:
        task: The run; its lease fences the results, and its reporter is asked for stops.
        machine: Machine with an agent, or simulated.
        options: The harness around the blocks.

    Yields:
        The identity of machine and harness, which belongs to the key of cached results; and a function that
            measures blocks.

    Raises:
        JobError: The machine's agent is too old for basic blocks.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        processor, schemes = simulated_machine(machine)

        def simulate(
            blocks: Sequence[Block],
            *_loops: object,
            starts: Sequence[StartValues] = (),
            **_modes: object,
        ) -> Iterator[tuple[int, Result]]:
            """Ignores loops and modes: a simulated processor has only one way to execute a block."""
            for index, block in enumerate(blocks):
                unknown = block.unknown or [text for text, _ in block.terms if text not in schemes]
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
def open_code_timer(task: Task, machine: Machine) -> Iterator[tuple[Json, CodeTimer]]:
    """The identity of a machine with an agent, and a timer of generated code on it.

    Raises:
        JobError: The machine's agent is too old for basic blocks.
    """
    with _measurer(task, machine, BlockOptions()) as measurer:
        yield measurer.identity, measurer


@contextmanager
def _measurer(task: Task, machine: Machine, options: BlockOptions) -> Iterator[BlockMeasurer]:
    facts = machine.facts
    simulated = bool(facts.get("simulated"))
    if not simulated and not facts.get("blocks"):
        raise JobError(
            f"the agent of {machine.name} is too old for basic blocks: start the agent that this site offers"
        )
    with agent_board(task, machine) as (board, identity):
        flags = None if simulated else flags_of(facts)
        wide = simulated or bool(facts.get("wide_blocks"))
        x87 = simulated or bool(facts.get("x87_blocks"))
        clears_masks = simulated or bool(facts.get("clear_masks"))
        shares = bool(facts.get("latency_bound"))
        leads_back = bool(facts.get("leads_back"))
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
            isa=machine.isa.name,
            leads_back=leads_back,
        )
