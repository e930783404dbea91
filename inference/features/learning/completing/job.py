"""Runs of kind `complete`: measure schemes that a core model lacks, and add them to it.

The model gets new parts, which have the old ones and the further schemes; the old parts stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from inference.core.errors import CoreError, InterruptedRunError
from inference.core.events import Event, Log, PhaseStarted, Progress, ResultStored
from inference.core.explain import REASONS, Characterisation, SchemeFate
from inference.core.explain.extension import extend_mapping
from inference.core.latency import ChainMeasurer, ChainReading, LatencyResult, infer_latencies
from inference.core.mapping import PortMapping
from inference.core.pacing import SilentReporter
from inference.core.protocols import Json, Measurer, RepeatingMeasurer
from inference.core.texts import count_of
from inference.features.learning.completing.request import CompletionConfig, read_config
from inference.features.learning.latencies.chains import latency_problem, open_chain_measurer
from inference.isa.chains import DependencyChain
from inference.isa.domains import domains_of
from inference.isa.targets import preferred_schemes
from inference.measuring.proxies import RepeatingCache, StoreBackedMeasurer
from inference.measuring.recorded import RecordedChains
from inference.models import InstructionScheme, LatencySet, Machine, Run, StoredCoreModel, Witness
from inference.models import PortMapping as PortMappingRow
from inference.models.scheme_search import MEASURABLE
from inference.runs.errors import JobError
from inference.runs.kinds import Job, Store, Task
from inference.runs.machines.measurer import agent_measurer, simulated_machine
from inference.runs.measurements import RunMeasurements
from inference.runs.request import needed_row
from inference.storage.characterisations import copy_characterisations, store_characterisations
from inference.storage.described_ports import equivalent_schemes
from inference.storage.latencies import (
    RecordedReadings,
    recorded_readings,
    store_extension,
    store_latencies,
)
from inference.storage.mappings import load_mapping
from inference.storage.names import free_name
from inference.storage.results import KEY as FRONT_POINT
from inference.storage.results import ComparedResult, compared_results, store_result

STAGES = ("Latencies", "Ports")
EXTENDS = "extends"
"""Key of a mapping's report: the mapping that it extends, and by which schemes."""
_PURPOSE = "floods"
_MAX_NAME = 150
"""Characters of a core model's name in the names of its completions."""

_LATENCY, _PORTS = "latency", "ports"


class CompletionJob(Job):
    """See `CompletionConfig`. Measurements from before an interruption are reused."""

    def check(self, config: Json) -> Json:
        return read_config(config).as_json()

    def default_name(self, config: Json) -> str:
        name = StoredCoreModel.objects.values_list("name", flat=True).get(pk=config["core_model"])
        return f"{name[:_MAX_NAME]} · {count_of(len(config['schemes']), 'more scheme', 'more schemes')}"

    def work(self, task: Task) -> Store:
        config = CompletionConfig.from_stored(task.run.config)
        models = StoredCoreModel.objects.select_related("isa", "mapping", "latencies")
        row = needed_row(models, config.core_model)
        machine = needed_row(Machine.objects.select_related("isa"), config.machine)
        completion = Completion(task, machine, _texts(config.schemes))
        task.reporter.emit(PhaseStarted(STAGES[0], 1, STAGES))
        completion.measure_latencies(row.latencies)
        task.reporter.emit(PhaseStarted(STAGES[1], 2, STAGES))
        completion.measure_ports(row.mapping)
        if completion.latencies is None and completion.usage is None:
            raise JobError(completion.first_reason)
        compared = [] if row.mapping is None else compared_results(machine, completion.joined(row.mapping))
        return partial(_store, completion, row.pk, compared)


def _texts(ids: Sequence[int]) -> list[str]:
    rows = InstructionScheme.objects.filter(pk__in=ids).order_by("text")
    return list(rows.values_list("text", flat=True))


@dataclass
class Completion:
    """The measurement of further schemes.

    `latencies` and `usage` (their µops, with those of schemes that do the same work) are None where nothing
    was measured. `reasons`: {scheme: {"latency" or "ports": why that was not measured}}.
    """

    task: Task
    machine: Machine
    schemes: Sequence[str]
    latencies: LatencyResult | None = None
    identity: Json = field(default_factory=dict)
    characterisations: tuple[Characterisation, ...] = ()
    usage: PortMapping | None = None
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def first_reason(self) -> str:
        reasons = [reason for by_part in self.reasons.values() for reason in by_part.values()]
        return reasons[0] if reasons else "the core model has all of these schemes already"

    def measure_latencies(self, base: LatencySet | None) -> None:
        """Measure the chains of the schemes that `base` lacks."""
        described = set() if base is None else set(base.schemes.values_list("scheme__text", flat=True))
        missing = [scheme for scheme in self.schemes if scheme not in described]
        if not missing:
            return
        try:
            problem = latency_problem(self.task, self.machine.isa.name, missing)
        except JobError as error:
            self._note(missing, _LATENCY, str(error))
            return
        recorded: RecordedReadings = {}
        if base is not None:  # which knows the connectors, the memory, and no bypass of other schemes
            recorded = recorded_readings(base)
            problem = replace(problem, memory=(), mixer=None)
        with open_chain_measurer(self.task, self.machine) as (identity, measurer):
            self.latencies = infer_latencies(problem, _Remembered(recorded, measurer), self._report)
            self.identity = identity
        unknown: dict[str, list[str]] = {}
        for pair in self.latencies.pairs:
            is_known = pair.is_isolated or pair.at_most is not None or pair.breaks
            unknown.setdefault(pair.link.scheme, []).append("" if is_known else pair.why)
        for scheme, reasons in unknown.items():
            if all(reasons):
                self._note([scheme], _LATENCY, reasons[0])

    def measure_ports(self, base: PortMappingRow | None) -> None:
        """Measure the schemes beside floods of the schemes of `base` that have one µop."""
        if base is None:
            self._note(self.schemes, _PORTS, "the core model has no ports: profile the CPU first")
            return
        mapping = load_mapping(base)
        stand_ins = self._stand_ins()
        lacking = sorted({text for texts in stand_ins.values() for text in texts} - mapping.usage.keys())
        failures = self._characterise(base, mapping, lacking) if lacking else {}
        for scheme, texts in stand_ins.items():
            if failed := [text for text in texts if text in failures]:
                name = "" if failed[0] == scheme else f"{failed[0]}: "
                self._note([scheme], _PORTS, f"{name}{failures[failed[0]]}")

    def joined(self, base: PortMappingRow) -> PortMapping:
        """A mapping with the measured schemes that it lacks."""
        mapping = load_mapping(base)
        usage = {} if self.usage is None else self.usage.usage
        return replace(mapping, usage={**usage, **mapping.usage})

    def _stand_ins(self) -> dict[str, tuple[str, ...]]:
        """{scheme: those whose ports are measured in its place}, with itself where it can be measured."""
        isa = self.machine.isa
        texts = isa.schemes.filter(MEASURABLE, text__in=self.schemes).values_list("text", flat=True)
        stand_ins = {text: (text,) for text in texts} | equivalent_schemes(isa, self.schemes)
        excluded = isa.schemes.filter(text__in=set(self.schemes) - stand_ins.keys())
        for text, exclusion in excluded.values_list("text", "exclusion"):
            self._note([text], _PORTS, exclusion)
        return stand_ins

    def _characterise(
        self, base: PortMappingRow, mapping: PortMapping, lacking: Sequence[str]
    ) -> dict[str, str]:
        """{scheme: why its ports were not found}."""
        with self._open_measurer([*lacking, *mapping.usage]) as (measurer, obstacles):
            failures = {scheme: obstacles[scheme] for scheme in lacking if scheme in obstacles}
            measurable = [scheme for scheme in lacking if scheme not in obstacles]
            if not measurable:
                return failures
            try:
                result = extend_mapping(
                    mapping.restricted(text for text in mapping.usage if text not in obstacles),
                    measurable,
                    measurer,
                    SilentReporter(self.task.reporter.pulse),
                    preferred=(*_blocking_schemes(base), *preferred_schemes()),
                    domains=domains_of([*measurable, *mapping.usage]),
                )
            except InterruptedRunError:
                raise
            except CoreError as error:
                return failures | dict.fromkeys(measurable, str(error))
        self.usage, self.characterisations = result.mapping, result.characterisations
        return failures | {
            verdict.scheme: verdict.text or REASONS[verdict.reason]
            for verdict in result.characterisations
            if verdict.outcome is not SchemeFate.CHARACTERISED
        }

    @contextmanager
    def _open_measurer(self, schemes: Sequence[str]) -> Iterator[tuple[Measurer, dict[str, str]]]:
        """A measurer whose results are stored with the run, and {scheme: why it cannot be measured}."""
        if self.machine.kind == Machine.Kind.SIMULATED:
            processor, described = simulated_machine(self.machine)
            unknown = "the simulated processor does not know it"
            yield (
                self._stored_measurer(processor),
                {text: unknown for text in schemes if text not in described},
            )
            return
        with agent_measurer(self.task, self.machine, schemes) as measurer:
            obstacles = {scheme: measurer.obstacle(scheme) for scheme in schemes}
            yield (
                self._stored_measurer(measurer),
                {text: reason for text, reason in obstacles.items() if reason},
            )

    def _stored_measurer(self, measurer: Measurer) -> Measurer:
        remember = partial(
            RunMeasurements, self.task.lease, self.machine.isa, measurer.identity, _PURPOSE, self.machine
        )

        def repetition(number: int) -> Measurer:
            if isinstance(measurer, RepeatingMeasurer):
                return measurer.repetition(number)
            return StoreBackedMeasurer(measurer, remember(repeat=number))

        return RepeatingCache(measurer, remember(), repetition)

    def _report(self, reading: ChainReading, done: int, total: int) -> None:
        del reading
        self.task.reporter.pulse()
        if done == total:
            self.task.reporter.emit(Progress(STAGES[0], done, total, 0.0, "chains", None))

    def _note(self, schemes: Sequence[str], part: str, reason: str) -> None:
        for scheme in schemes:
            self.reasons.setdefault(scheme, {})[part] = reason


def _blocking_schemes(row: PortMappingRow) -> Sequence[str]:
    """The schemes that showed µops of others when the mapping was inferred."""
    witnesses = Witness.objects.filter(characterisation__mapping=row).order_by()
    return sorted(witnesses.values_list("blocker__text", flat=True).distinct())


class _Remembered:
    """Answers from the readings of an earlier set, and measures the other chains."""

    def __init__(self, recorded: RecordedReadings, measurer: ChainMeasurer) -> None:
        self._recorded = {key: reading for key, reading in recorded.items() if reading[0] is not None}
        self._measurer = measurer

    def measure(self, chains: Sequence[DependencyChain], repeat: int = 0) -> Iterator[ChainReading]:
        recorded_chains = [chain for chain in chains if (chain.code, chain.loop) in self._recorded]
        unknown = [chain for chain in chains if (chain.code, chain.loop) not in self._recorded]
        yield from RecordedChains(self._recorded).measure(recorded_chains)
        if unknown:
            yield from self._measurer.measure(unknown, repeat)


def _store(
    completion: Completion, model: int, compared: Sequence[ComparedResult]
) -> tuple[Json, Sequence[Event]]:
    """Extend the parts that the model has now: another completion may have ended meanwhile."""
    run = completion.task.run
    rows = StoredCoreModel.objects.select_for_update(of=("self",), no_key=True)
    row = rows.select_related("mapping", "latencies").filter(pk=model).first()
    latencies = _store_latencies(completion, None if row is None else row.latencies, run)
    mapping = _store_mapping(completion, None if row is None else row.mapping, run, compared)
    if row is not None:
        row.latencies, row.mapping = latencies or row.latencies, mapping or row.mapping
        row.save(update_fields=["latencies", "mapping"])
    result: Json = {
        "name": run.name,
        "core_model": None if row is None else row.pk,
        "latency_set": None if latencies is None else latencies.pk,
        "mapping": None if mapping is None else mapping.pk,
        "schemes": len(completion.schemes),
        "unmeasured": completion.reasons,
    }
    complete = len(completion.schemes) - len(completion.reasons)
    text = f"{complete} of {len(completion.schemes)} schemes are complete"
    return result, [Log("info", text), ResultStored(result)]


def _store_latencies(completion: Completion, base: LatencySet | None, run: Run) -> LatencySet | None:
    if completion.latencies is None:
        return None
    name = free_name(LatencySet, run.name)
    if base is None:
        return store_latencies(name, completion.machine, completion.latencies, completion.identity, run=run)
    return store_extension(name, base, completion.latencies, completion.identity, run=run)


def _store_mapping(
    completion: Completion, base: PortMappingRow | None, run: Run, compared: Sequence[ComparedResult]
) -> PortMappingRow | None:
    if completion.usage is None or base is None or tuple(base.ports) != completion.usage.ports:
        return None
    value = completion.joined(base)
    added = sorted(completion.usage.usage.keys() - load_mapping(base).usage.keys())
    report = {key: part for key, part in base.report.items() if key != FRONT_POINT}
    row = store_result(
        free_name(PortMappingRow, run.name),
        base.isa,
        value,
        compared,
        source=base.source,
        machine=base.machine,
        run=run,
        report={**report, EXTENDS: {"mapping": base.pk, "name": base.name, "schemes": added}},
        note=f"{base.name} with {count_of(len(added), 'more scheme', 'more schemes')}.",
    )
    copy_characterisations(base, row, [verdict.scheme for verdict in completion.characterisations])
    store_characterisations(row, completion.characterisations)
    return row


JOBS = {"complete": CompletionJob}
