"""The chains of schemes, and what measures them on a machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from inference.agent.protocol import Settings
from inference.core.latency import ChainMeasurer, ChainReading, LatencyProblem
from inference.core.protocols import Json
from inference.isa.blocks import block_of_bytes
from inference.isa.bodies import chain_maker
from inference.isa.chains import ChainLink, DependencyChain, IdiomChains, PairChains
from inference.isa.llvm_mc import AssemblerError
from inference.measuring.blocks import LOOP, UNROLLED, BlockOptions
from inference.measuring.items import FramedChains, reading_of
from inference.measuring.simulated_chains import SimulatedLatencies, sampled_latencies
from inference.measuring.simulated_memory import SimulatedMemory, sampled_memory_unit
from inference.models import Machine
from inference.runs.errors import JobError
from inference.runs.kinds import Task
from inference.runs.machines.blocks import MeasureBlocks, open_block_measurer
from inference.runs.machines.measurer import agent_board

_CHUNK = 200
"""Number of links whose chains are assembled at once."""


@contextmanager
def open_chain_measurer(task: Task, machine: Machine) -> Iterator[tuple[Json, ChainMeasurer]]:
    """(identity, measurer) of chains on a machine, which may be simulated."""
    if not machine.executes_code:
        yield {"simulated": machine.name}, _simulated_latencies(machine)
        return
    frame = chain_maker(machine.isa.name).frame()
    if frame is None:
        with open_block_measurer(task, machine, BlockOptions()) as (identity, measure):
            yield identity, _BlockChainMeasurer(measure, machine.isa.name)
        return
    with agent_board(task, machine) as (board, identity):
        measurer = FramedChains(board, identity, Settings(), frame)
        yield measurer.identity, measurer


class _BlockChainMeasurer:
    """Measures chains on a machine that measures basic blocks."""

    def __init__(self, measure: MeasureBlocks, isa: str) -> None:
        self._measure = measure
        self._isa = isa

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        settings = dict.fromkeys((chain.loop, chain.copies) for chain in chains)
        for loop, copies in sorted(settings):
            alike = [chain for chain in chains if (chain.loop, chain.copies) == (loop, copies)]
            blocks = [block_of_bytes(chain.code, self._isa) for chain in alike]
            bound = {index for index, chain in enumerate(alike) if chain.links}
            mode = LOOP if loop else UNROLLED
            for index, result in self._measure(blocks, mode, repeat, latency_bound=bound, copies=copies):
                yield reading_of(alike[index], result)


def _simulated_latencies(machine: Machine) -> ChainMeasurer:
    """Simulated latencies from the machine's seed, with its noise: port mappings have none."""
    facts = machine.facts
    seed = int(facts.get("seed", 0))
    return SimulatedLatencies(
        sampled_latencies(seed, machine.isa.name),
        noise=facts.get("noise", 0.0),
        outliers=facts.get("outlier_share", 0.0),
        seed=seed,
        memory=SimulatedMemory(sampled_memory_unit(seed)),
    )


def latency_problem(task: Task, isa: str, schemes: Sequence[str]) -> LatencyProblem:
    """The chains of all pairs of operands of these schemes.

    Raises:
        JobError: No pair can form a chain, or the assembler does not work.
    """
    idioms: list[IdiomChains] = []
    links: list[ChainLink] = []
    maker = chain_maker(isa)
    for text in schemes:
        links += maker.links_of(text)
        idioms += maker.idioms_of(text)
        task.reporter.pulse()
    try:
        ways = maker.chains_of_pairs(maker.connectors())
        pairs: list[PairChains] = []
        for begin in range(0, len(links), _CHUNK):
            pairs += maker.chains_of_pairs(links[begin : begin + _CHUNK])
            task.reporter.pulse()
    except AssemblerError as error:
        raise JobError(f"the chains cannot be assembled: {error}") from error
    if not any(pair.chains for pair in pairs):
        raise JobError("none of these schemes has a pair of operands that can form a chain")
    return LatencyProblem(
        pairs, ways, idioms, maker.reference_additions(), maker.memory_chains(), maker.mixer()
    )
