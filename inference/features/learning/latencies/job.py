"""Runs of kind `latencies`: measure chains of dependent instructions, and infer latencies from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.latency import (
    ChainReading,
    LatencyResult,
    infer_latencies,
)
from inference.core.pacing import PacedReporter
from inference.core.protocols import Json
from inference.features.learning.latencies.chains import latency_problem, open_chain_measurer
from inference.isa.bodies import obstacle_to_chains
from inference.measuring.recorded import RecordedChains
from inference.models import ISA, LatencySet, Machine, Run
from inference.models.scheme_search import latency_schemes
from inference.runs.errors import ConfigError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.facts import read_machine
from inference.runs.machines.measurer import chosen_schemes
from inference.runs.request import RunRequest, Schemes, needed_row, read_row
from inference.storage.latencies import recorded_readings, store_latencies
from inference.storage.names import free_name, processor_name, result_name, row_names, selection_name

_STAGES = ("Make the chains", "Measure them")


class LatenciesConfig(RunRequest):
    """Configuration of a measurement of latencies.

    `machine`: id; or `recorded`: id of a latency set whose readings are evaluated again. `schemes` is a
    selection by word or a list of scheme ids, `scheme_filter` the search text of that list. `isa` is the
    machine's.
    """

    noun = "a run over latencies"
    machine: int | None = None
    recorded: int | None = None
    isa: str = ""
    schemes: Schemes = "starter"
    scheme_filter: str = ""


def read_config(config_json: Json) -> LatenciesConfig:
    """Validates and completes a configuration. Raises `ConfigError` naming the field."""
    config = LatenciesConfig.read(config_json)
    if (config.machine is None) == (config.recorded is None):
        raise ConfigError("give either a machine or recorded latencies")
    if config.recorded is None:
        machine = read_machine("", config.machine)
    else:
        row = read_row(LatencySet, "recorded", config.recorded)
        machine = row.machine
        if row.readings is None:
            raise ConfigError(f"recorded: the set {row.name!r} has no stored readings")
    if obstacle := obstacle_to_chains(machine.name, machine.isa.name):
        raise ConfigError(obstacle)
    return config.model_copy(update={"isa": machine.isa.name})


class LatenciesJob(Job):
    """See `LatenciesConfig`. Measurements from before an interruption are reused."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        request = LatenciesConfig.from_stored(config)
        if request.recorded is not None:
            return result_name(*row_names(LatencySet, [request.recorded]), "evaluated again")
        assert request.machine is not None, "`read_config` requires one of both"
        schemes = selection_name(request.schemes, request.scheme_filter)
        return result_name(processor_name(request.machine), "latencies", schemes)

    def work(self, task: Task) -> Store:
        """Generates the chains of all pairs of operands, measures them, and infers latencies."""
        config = LatenciesConfig.from_stored(task.run.config)
        machine, recorded = _source(config)
        self._enter(task, 1)
        problem = latency_problem(task, machine.isa.name, _selected_texts(machine.isa, config.schemes))
        self._enter(task, 2)
        report = _Progress(task)
        if recorded is not None:
            result = infer_latencies(problem, RecordedChains(recorded_readings(recorded)), report)
            return partial(_store, task.run, machine, result, recorded.identity)
        with open_chain_measurer(task, machine) as (identity, measurer):
            result = infer_latencies(problem, measurer, report)
        return partial(_store, task.run, machine, result, identity)

    def _enter(self, task: Task, index: int) -> None:
        task.reporter.emit(PhaseStarted(_STAGES[index - 1], index, _STAGES))


def _source(config: LatenciesConfig) -> tuple[Machine, LatencySet | None]:
    """The machine, and the set whose readings are evaluated. Raises `JobError` if it was deleted."""
    if config.recorded is not None:
        row = needed_row(LatencySet.objects.select_related("machine__isa"), config.recorded)
        return row.machine, row
    return needed_row(Machine.objects.select_related("isa"), config.machine), None


class _Progress:
    def __init__(self, task: Task) -> None:
        self._reporter = PacedReporter(task.reporter)
        self._began = self._reporter.clock()

    def __call__(self, reading: ChainReading, done: int, total: int) -> None:
        self._reporter.pulse()
        if not self._reporter.due("chains") and done < total:
            return
        rate = done / max(self._reporter.clock() - self._began, 1e-3)
        self._reporter.emit(
            Progress(_STAGES[-1], done, total, round(rate, 1), "chains", (total - done) / rate)
        )


def _selected_texts(isa: ISA, selection: str | list[int]) -> list[str]:
    """The texts of the selected schemes, sorted."""
    if isinstance(selection, list):
        return chosen_schemes(isa, selection)
    return sorted(latency_schemes(isa.schemes.all(), selection).values_list("text", flat=True))


def _store(run: Run, machine: Machine, output: LatencyResult, identity: Json) -> tuple[Json, Sequence[Event]]:
    row = store_latencies(free_name(LatencySet, run.name), machine, output, identity, run=run)
    result: Json = {
        "latency_set": row.pk,
        "name": row.name,
        "url": f"/latencies/{row.pk}/",  # no reverse(): an error in the pages must not lose the result
        "schemes": row.schemes.count(),
        "pairs": len(output.pairs),
        "isolated": output.isolated,
        "bounds": output.bounded,
    }
    text = f"{len(output.pairs)} pairs of operands, {output.isolated} isolated, {output.bounded} bounds"
    return result, [Log("info", text), ResultStored(result)]


JOBS = {"latencies": LatenciesJob}
