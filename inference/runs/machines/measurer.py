"""A machine as a measurer of experiments, the schemes that it can measure, and its drift."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from inference.agent.protocol import Settings
from inference.core.core_model.memory_reading import store_curves
from inference.core.events import Event, Log, WaitChanged
from inference.core.experiment import Measured, MeasurementState
from inference.core.front_end import read_front_end
from inference.core.mapping import PortMapping
from inference.core.pmevo import plan
from inference.core.protocols import Json, Measurer
from inference.formats.parsing import AnyNames, parse
from inference.isa.bodies import body_maker
from inference.isa.machine_bodies import COSTS, DEFAULTS, MIN_WRITTEN_LINES, WRITTEN_LINES, Options
from inference.isa.microarchitecture import flags_of
from inference.measuring.drift import DriftCheck, DriftComparison, DriftVerdict, DriftWatch
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated import BLOCK_OPTIONS, NOISE_OPTIONS, SimulatedProcessor
from inference.measuring.simulated_agent import dummy_code
from inference.models import ISA, ExperimentSet, LatencySet, Machine, Measurement
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.events import DriftChecked
from inference.runs.journal import Lease, fenced_rows
from inference.runs.kinds import Task
from inference.runs.machines.board import DatabaseBoard
from inference.storage.core_models import newest_front_end, settled_readings
from inference.storage.recorded import selected_schemes
from inference.storage.rows import store_experiments, store_measurements

MIN_SETTLED_SHARE = 0.5
"""Share of the single instructions that must settle: below it, a machine is too disturbed for inference."""

_MAX_LISTED = 5  # experiments named in a warning
_STORE_BITS = 64
"""Width of the stores in experiments."""

LogText = Callable[[str, str], None]


def identity_of(machine: Machine) -> Json:
    """Identity of the measurements of a machine with an agent: the facts that change results."""
    facts = machine.facts
    identity = {
        "kind": "machine",
        "machine": machine.pk,  # not its name, which may change while a run is paused
        "cpu": machine.cpu,
        "harness": facts.get("version", ""),
    }
    if bypass := facts.get("confinement", {}).get("store_bypass"):  # changes how long loads wait for stores
        identity["store_bypass"] = bypass
    if facts.get("core_type"):  # only hybrid processors have kinds of cores: others keep their identity
        identity["core_type"] = facts["core_type"]
    return identity


@contextmanager
def agent_board(task: Task, machine: Machine) -> Iterator[tuple[DatabaseBoard, Json]]:
    """A board for the run's batches on the machine, and the identity of its measurements.

    On exit, batches without results are withdrawn.
    """
    reporter = task.reporter

    def report_wait(text: str, waits: bool) -> None:
        # Before the log line: that is written at once, together with the events before it.
        reporter.emit(WaitChanged(text if waits else ""))
        reporter.emit(Log("warning", text))

    with closing(DatabaseBoard(task.lease, machine, reporter.pulse, report_wait)) as board:
        yield board, identity_of(machine)


@contextmanager
def agent_measurer(
    task: Task, machine: Machine, schemes: Collection[str], options: Options = DEFAULTS
) -> Iterator[RemoteMeasurer]:
    """A measurer for experiments of the schemes; on exit, batches without results are withdrawn.

    Args:
        task: The run, whose pulse is called while it waits.
        machine: Its agent measures.
        schemes: Schemes for which loop bodies are prepared.
        options: How loop bodies are generated; a simulated agent ignores them.
    """
    with agent_board(task, machine) as (board, identity):
        facts = machine.facts
        settings = Settings()
        journal = DriftJournal(task.lease, machine.isa, task.reporter.emit)
        watch = DriftWatch(settings, journal, seed=task.lease.token)
        if not machine.executes_code:
            yield RemoteMeasurer(
                board,
                identity,
                None,
                settings,
                True,
                assemble=dummy_code,
                assemble_in_order=dummy_code,
                watch=watch,
            )
        else:
            options = options_for(machine, task.run.created, options)
            if options.least_bytes:
                short = f"instructions shorter than {options.least_bytes} bytes"
                text = f"{short} get prefixes: the front end of {machine.name} is slower in loops of them"
                task.reporter.emit(Log("info", text))
            isa = machine.isa.name
            bodies = body_maker(isa).machine_bodies(schemes, flags_of(facts), options)
            yield RemoteMeasurer(
                board,
                {**identity, **bodies.identity},
                bodies.flags,
                settings,
                bodies.avx,
                isa=isa,
                assemble=bodies.unroll,
                assemble_in_order=bodies.unroll_in_order,
                surroundings=bodies,
                watch=watch,
            )


def options_for(machine: Machine, before: datetime, options: Options = DEFAULTS) -> Options:
    """Options for loop bodies, adapted to the machine's measured caches and front end.

    Args:
        machine: Without such measurements, its options are the given ones.
        before: Creation time of the run. Later measurements do not count: a resumed run must use the same
            bodies, and the bodies of its measurements must be reproducible.
        options: The options that the user chose.
    """
    options = replace(options, written_lines=written_lines_of(machine, before=before))
    row = newest_front_end(machine, before=before)
    full_rate_bytes = None if row is None else read_front_end(settled_readings(row)).full_rate_bytes
    return options if full_rate_bytes is None else replace(options, least_bytes=full_rate_bytes)


def written_lines_of(machine: Machine, before: datetime) -> int | None:
    """Number of cache lines over which stores alternate at the machine's full rate, as measured before a
    time.

    None if the usual number is not too large, or if it was not measured.
    """
    rows = LatencySet.objects.filter(machine=machine, created__lt=before).order_by("-pk")
    curve = store_curves(rows.values_list("memory", flat=True).first() or []).get(_STORE_BITS)
    if curve is None or not MIN_WRITTEN_LINES <= curve.plateau < WRITTEN_LINES:
        return None
    return curve.plateau


def chosen_schemes(isa: ISA, selection: str | list[int]) -> list[str]:
    """The schemes of a run's selection, sorted; "all" selects the schemes without an exclusion."""
    schemes = selected_schemes(isa, selection)
    return sorted(
        isa.schemes.filter(exclusion="").values_list("text", flat=True) if schemes is None else schemes
    )


def measurable_schemes(measurer: RemoteMeasurer, schemes: Sequence[str], log: LogText) -> list[str]:
    """The schemes that the measurer can measure, in their order.

    Args:
        measurer: Measurer of a machine.
        schemes: To choose from.
        log: Gets the others, with reasons.

    Raises:
        JobError: None can be measured.
    """
    obstacles = {scheme: measurer.obstacle(scheme) for scheme in schemes}
    _log_exclusions({scheme: reason for scheme, reason in obstacles.items() if reason}, log)
    reachable = [scheme for scheme, reason in obstacles.items() if not reason]
    if not reachable:
        raise JobError("none of the chosen schemes can be measured on this machine: choose other schemes")
    return reachable


def log_breakers(measurer: RemoteMeasurer, schemes: Sequence[str], log: LogText) -> None:
    """Log the schemes that are measured with dependency-breaking instructions, and their cost."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for scheme in schemes:
        for kind in measurer.breakers(scheme):
            by_kind[COSTS[kind]].append(scheme)
    for cost, named in by_kind.items():
        listing = "; ".join(named[:_MAX_LISTED]) + (" …" if len(named) > _MAX_LISTED else "")
        log(f"{len(named)} scheme(s) are measured together with a breaker, {cost}: {listing}", "info")


def sample_evenly(schemes: Sequence[str], n: int | None) -> Sequence[str]:
    """`n` of the schemes at equal distances; all if there are no more, or if `n` is None.

    In sorted texts similar instructions are adjacent, so every family is represented.

    >>> sample_evenly(["add", "and", "mul", "xor"], 2)
    ['add', 'mul']
    """
    if n is None or n >= len(schemes):
        return schemes
    return [schemes[k * len(schemes) // n] for k in range(n)]


def singleton_cycles(measurer: Measurer, schemes: Sequence[str], log: LogText) -> dict[str, float]:
    """Measure every scheme alone: {scheme: cycles} of the settled ones.

    Args:
        measurer: Measures experiments.
        schemes: To measure.
        log: Gets the schemes without a settled time, with reasons.

    Raises:
        JobError: Fewer than `MIN_SETTLED_SHARE` settled.
    """
    results = list(measurer.measure(plan.singletons(schemes)))
    failed = _results_in_state(results, MeasurementState.FAILED)
    contended = _results_in_state(results, MeasurementState.CONTENDED)
    unsettled = _results_in_state(results, MeasurementState.UNSETTLED)
    _log_exclusions({result.experiment.schemes[0]: result.note or "failed" for result in failed}, log)
    reasons = {result.experiment.schemes[0]: "its measurements did not agree" for result in unsettled}
    reasons |= {result.experiment.schemes[0]: "the computer was too disturbed" for result in contended}
    _log_exclusions(reasons, log)
    settled = {
        result.experiment.schemes[0]: result.cycles
        for result in results
        if result.usable and result.cycles is not None
    }
    possible = len(results) - len(failed)
    if not possible:
        raise JobError(
            f"each of the {len(results)} schemes failed when it was measured alone: "
            f"{results[0].experiment}: {results[0].note}"
        )
    if len(settled) < MIN_SETTLED_SHARE * possible:
        raise JobError(
            f"only {len(settled)} of {possible} single instructions could be measured reliably: other work "
            "disturbs this computer too much for an inference. Stop that work, pin a virtual machine to "
            "dedicated processors, see the advice on the machine's page, and start the run again"
        )
    return settled


def _results_in_state(results: Sequence[Measured], state: MeasurementState) -> list[Measured]:
    return [result for result in results if result.state is state]


def _log_exclusions(reasons: Mapping[str, str], log: LogText) -> None:
    """Log one line per reason, with the number of schemes and the first of them."""
    schemes: defaultdict[str, list[str]] = defaultdict(list)
    for scheme, reason in reasons.items():
        schemes[reason].append(scheme)
    for reason, named in schemes.items():
        listing = "; ".join(named[:_MAX_LISTED]) + (" …" if len(named) > _MAX_LISTED else "")
        noun = "scheme is" if len(named) == 1 else "schemes are"
        log(f"{len(named)} {noun} left out, {reason}: {listing}", "warning")


def settled_share(results: Sequence[Measured]) -> float:
    """Share of the experiments that settled, 0 to 1, among those that could be executed."""
    possible = [result for result in results if result.state is not MeasurementState.FAILED]
    return sum(result.usable for result in possible) / len(possible) if possible else 0.0


@contextmanager
def open_measurer(
    task: Task, machine: Machine, selection: str | list[int], options: Options = DEFAULTS
) -> Iterator[tuple[Measurer, Sequence[str]]]:
    """A measurer for the machine, and the selected schemes, sorted.

    For a simulated machine these are the schemes of its mapping. An agent may be unable to measure some
    (`measurable_schemes`).

    Args:
        task: The run that measures.
        machine: A machine of any kind but published measurements.
        selection: A word of `SELECTIONS`, or ids of schemes.
        options: How an agent's loop bodies are generated.

    Raises:
        JobError: The simulated machine has none of the schemes.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        processor, supported = simulated_machine(machine)
        selected = selected_schemes(machine.isa, selection)
        schemes = sorted(supported if selected is None else supported & selected)
        if not schemes:
            raise JobError("none of the chosen schemes can be measured on this machine: choose other schemes")
        yield processor, schemes
        return
    chosen = chosen_schemes(machine.isa, selection)
    with agent_measurer(task, machine, chosen, options) as measurer:
        yield measurer, chosen


def simulated_machine(machine: Machine) -> tuple[SimulatedProcessor, set[str]]:
    """The simulated processor, and the schemes of its mapping. Raises `JobError` without a mapping."""
    mapping = _stored_mapping(machine)
    noise = {name: machine.facts[name] for name in (*NOISE_OPTIONS, *BLOCK_OPTIONS) if name in machine.facts}
    return SimulatedProcessor(mapping, seed=machine.facts.get("seed", 0), **noise), schemes_with_uops(mapping)


def schemes_with_uops(mapping: PortMapping) -> set[str]:
    """Schemes with at least one µop: the others take no time on the simulated processor."""
    return {scheme for scheme, uops in mapping.usage.items() if uops}


def _stored_mapping(machine: Machine) -> PortMapping:
    """The port mapping that a simulated machine stores among its facts. Raises `JobError`."""
    document = json.dumps(machine.facts.get("mapping")).encode()
    parsed = parse(document, f"the mapping of {machine.name}", AnyNames())
    if parsed.mapping is None:
        raise JobError("; ".join(parsed.lines()) or f"the machine {machine.name!r} has no port mapping")
    return parsed.mapping


class DriftJournal:
    """Stores the drift checks of one attempt at a run.

    The running attempt keeps the result that it has read. Stored is the amended result, whose note has the
    earlier number; the journal has all repetitions. Raises `LeaseLostError`.
    """

    def __init__(self, lease: Lease, isa: ISA, emit: Callable[[Event], None]) -> None:
        self._lease = lease
        self._isa = isa
        self._emit = emit

    def __call__(self, check: DriftCheck) -> None:
        for before, result in check.amended:
            self._amend(before, result)
        self._emit(DriftChecked.of(check))
        for comparison in check.compared:
            if comparison.verdict in {DriftVerdict.REPLACED, DriftVerdict.UNSETTLED}:
                self._emit(Log("warning", _drift_text(comparison)))

    def _amend(self, before: float, result: Measured) -> None:
        """Replace the contradicted result by a new row: rows of measurements are never updated."""
        with transaction.atomic():
            # Matching the row also locks it: no worker can claim the run meanwhile.
            if not fenced_rows(self._lease).update(lease_token=self._lease.token):
                raise LeaseLostError(self._lease.run_id, self._lease.token)
            experiment = store_experiments(self._isa, [result.experiment])[result.experiment]
            contradicted = Measurement.objects.filter(
                experiment_set__run=self._lease.run_id,
                experiment=experiment,
                state=Measurement.State.SETTLED,
                cycles=before,
            )
            for row, set_id, repeat in contradicted.values_list("pk", "experiment_set", "repeat"):
                Measurement.objects.filter(pk=row).delete()
                store_measurements(ExperimentSet.objects.get(pk=set_id), [result], repeat)


def _drift_text(comparison: DriftComparison) -> str:
    remeasured = " and ".join(f"{cycles:.4g}" for cycles in comparison.after)
    consequence = (
        "the last number replaces it"
        if comparison.verdict is DriftVerdict.REPLACED
        else "it counts as unsettled"
    )
    numbers = f"{comparison.before:.4g} cycles before, measured again as {remeasured}"
    return f"{comparison.experiment}: {numbers}: {consequence}"
