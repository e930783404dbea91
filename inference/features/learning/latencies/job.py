"""Runs of kind `latencies`: chains of dependencies are measured on a machine, and latencies read off them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from inference.agent.protocol import Settings
from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.latency import (
    ChainMeasurer,
    ChainReading,
    LatencyProblem,
    LatencyResult,
    infer_latencies,
)
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.isa.blocks import block_of_bytes
from inference.isa.chains import ChainLink, DependencyChain, IdiomChains, PairChains
from inference.isa.latency_chains import chain_maker, obstacle_to_chains
from inference.isa.llvm_mc import AssemblerError
from inference.measuring.blocks import LOOP, UNROLLED, BlockOptions
from inference.measuring.items import FramedChains, reading_of
from inference.measuring.recorded import RecordedChains
from inference.measuring.simulated_chains import SimulatedLatencies, drawn_latencies
from inference.measuring.simulated_memory import SimulatedMemory, drawn_memory_unit
from inference.models import ISA, LatencySet, Machine, Run
from inference.models.scheme_search import latency_schemes
from inference.runs.errors import ConfigError, JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.blocks import MeasureBlocks, measuring_blocks
from inference.runs.machines.facts import read_machine
from inference.runs.machines.measurer import agent_board, chosen_schemes
from inference.runs.request import RunRequest, Schemes, needed_row, read_row
from inference.storage.latencies import recorded_readings, store_latencies
from inference.storage.names import free_name

_AT_ONCE = 200
"""Links whose chains are assembled together."""
_STAGES = ("Make the chains", "Measure them")


class LatenciesConfig(RunRequest):
    """`machine`: id; or `recorded`: of a latency set, whose readings are read again. `schemes` is a
    selection by word or a list of scheme ids, `scheme_filter` the search text that those came from. `isa` is
    that of the machine.
    """

    noun = "a run over latencies"
    machine: int | None = None
    recorded: int | None = None
    isa: str = ""
    schemes: Schemes = "starter"
    scheme_filter: str = ""


def read_config(given: Json) -> LatenciesConfig:
    """Check and complete a description. Raises `ConfigError` naming the field."""
    config = LatenciesConfig.read(given)
    if (config.machine is None) == (config.recorded is None):
        raise ConfigError("a run over latencies needs a machine, or recorded latencies, and not both")
    if config.recorded is None:
        machine = read_machine("", config.machine)
    else:
        row = read_row(LatencySet, "recorded", config.recorded)
        machine = row.machine
        if row.readings is None:
            raise ConfigError(f"recorded: the set {row.name!r} is from before readings were kept")
    if hindered := obstacle_to_chains(machine.name, machine.isa.name):
        raise ConfigError(hindered)
    return config.model_copy(update={"isa": machine.isa.name})


class LatenciesJob(Job):
    """See `LatenciesConfig`. What was measured before an interruption is not measured again."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def work(self, task: Task) -> Store:
        """Make the chains of all pairs of operands, measure them, and read the latencies off."""
        config = LatenciesConfig.stored(task.run.config)
        machine, recorded = _source(config)
        self._enter(task, 1)
        problem = _problem(task, machine.isa.name, _chosen(machine.isa, config.schemes))
        self._enter(task, 2)
        telling = _Progress(task)
        if recorded is not None:
            found = infer_latencies(problem, RecordedChains(recorded_readings(recorded)), telling)
            return partial(_store, task.run, machine, found, recorded.identity)
        if machine.is_simulated:
            found = infer_latencies(problem, _simulated(machine), telling)
            return partial(_store, task.run, machine, found, {"simulated": machine.name})
        with _on_machine(task, machine) as (identity, measurer):
            found = infer_latencies(problem, measurer, telling)
        return partial(_store, task.run, machine, found, identity)

    def _enter(self, task: Task, index: int) -> None:
        task.reporter.emit(PhaseStarted(_STAGES[index - 1], index, _STAGES))


def _source(config: LatenciesConfig) -> tuple[Machine, LatencySet | None]:
    """The machine, and the set whose readings are read again. Raises `JobError` for one that is gone."""
    if config.recorded is not None:
        row = needed_row(LatencySet.objects.select_related("machine__isa"), config.recorded)
        return row.machine, row
    return needed_row(Machine.objects.select_related("isa"), config.machine), None


@contextmanager
def _on_machine(task: Task, machine: Machine) -> Iterator[tuple[Json, ChainMeasurer]]:
    """Who measures chains there, and its identity."""
    frame = chain_maker(machine.isa.name).frame()
    if frame is None:
        with measuring_blocks(task, machine, BlockOptions()) as (identity, measure):
            yield identity, _AsBlocks(measure)
        return
    with agent_board(task, machine) as (board, identity):
        measurer = FramedChains(board, identity, Settings(), frame)
        yield measurer.identity, measurer


class _AsBlocks:
    """A machine that measures basic blocks as a measurer of chains."""

    def __init__(self, measure: MeasureBlocks) -> None:
        self._measure = measure

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        """Every reading as it comes."""
        surroundings = dict.fromkeys((chain.loop, chain.copies) for chain in chains)
        for loop, copies in sorted(surroundings):
            alike = [chain for chain in chains if (chain.loop, chain.copies) == (loop, copies)]
            blocks = [block_of_bytes(chain.code) for chain in alike]
            bound = {index for index, chain in enumerate(alike) if chain.links}
            mode = LOOP if loop else UNROLLED
            for index, result in self._measure(blocks, mode, repeat, latency_bound=bound, copies=copies):
                yield reading_of(alike[index], result)


class _Progress:
    """Tells how many chains have been measured."""

    def __init__(self, task: Task) -> None:
        self._reporter = PacedReporter(task.reporter)
        self._began = self._reporter.clock()

    def __call__(self, reading: ChainReading, done: int, total: int) -> None:
        self._reporter.pulse()
        if not self._reporter.due("chains") and done < total:
            return
        rate = done / max(self._reporter.clock() - self._began, 1e-3)
        self._reporter.emit(
            Progress("latencies", done, total, round(rate, 1), "chains", (total - done) / rate)
        )


def _problem(task: Task, isa: str, schemes: Sequence[str]) -> LatencyProblem:
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
        for begin in range(0, len(links), _AT_ONCE):
            pairs += maker.chains_of_pairs(links[begin : begin + _AT_ONCE])
            task.reporter.pulse()
    except AssemblerError as error:
        raise JobError(f"the chains cannot be assembled: {error}") from error
    if not any(pair.chains for pair in pairs):
        raise JobError("none of these schemes has a pair of operands that a chain can be made of")
    return LatencyProblem(pairs, ways, idioms, maker.plain_additions(), maker.memory_chains(), maker.mixer())


def _chosen(isa: ISA, selection: str | list[int]) -> list[str]:
    """The schemes of a run's selection, sorted."""
    if isinstance(selection, list):
        return chosen_schemes(isa, selection)
    return sorted(latency_schemes(isa.schemes.all(), selection).values_list("text", flat=True))


def _simulated(machine: Machine) -> ChainMeasurer:
    """Latencies that follow from the machine's seed, with its noise: no port mapping has any."""
    facts = machine.facts
    seed = int(facts.get("seed", 0))
    return SimulatedLatencies(
        drawn_latencies(seed, chain_maker(machine.isa.name).connectors()),
        noise=facts.get("noise", 0.0),
        outliers=facts.get("outlier_share", 0.0),
        seed=seed,
        memory=SimulatedMemory(drawn_memory_unit(seed)),
    )


def _store(run: Run, machine: Machine, found: LatencyResult, identity: Json) -> tuple[Json, Sequence[Event]]:
    made = store_latencies(free_name(LatencySet, run.name), machine, found, identity, run=run)
    result: Json = {
        "latency_set": made.pk,
        "name": made.name,
        "url": f"/latencies/{made.pk}/",  # not looked up: a fault in a page must not cost a result
        "schemes": made.schemes.count(),
        "pairs": len(found.pairs),
        "isolated": found.isolated,
        "bounds": found.bounded,
    }
    text = f"{len(found.pairs)} pairs of operands, {found.isolated} isolated, bounds for {found.bounded}"
    return result, [Log("info", text), ResultStored(result)]
