"""A machine as a measurer, and which schemes can be measured there."""

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
from inference.isa.body_options import DEFAULTS, FEWEST_WRITTEN_LINES, WRITTEN_LINES, Options
from inference.isa.breakers import COSTS
from inference.isa.cpu_flags import flags_of
from inference.measuring.drift import DriftCheck, DriftComparison, DriftVerdict, DriftWatch
from inference.measuring.remote import RemoteMeasurer
from inference.measuring.simulated import NOISE, OF_BLOCKS, SimulatedProcessor
from inference.measuring.simulated_agent import stand_in
from inference.models import ISA, ExperimentSet, LatencySet, Machine, Measurement
from inference.runs.errors import JobError, LeaseLostError
from inference.runs.events import DriftChecked
from inference.runs.journal import Lease, held
from inference.runs.kinds import Task
from inference.runs.machines.board import DatabaseBoard
from inference.storage.core_models import newest_front_end, settled_readings
from inference.storage.recorded import selected_schemes
from inference.storage.rows import store_experiments, store_measurements

LEAST_SETTLED = 0.5
"""Share of the single instructions that must settle for anything to be concluded from a machine."""

_SHOWN = 5
_USUAL_STORE = 64
"""Bits."""

LogText = Callable[[str, str], None]


def identity_of(machine: Machine) -> Json:
    """Who measures on a machine with an agent, as far as it changes the results."""
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
    """Where the run posts batches for the machine's agent, and the identity of who measures them.

    Afterwards nothing of the run waits for the machine.
    """
    reporter = task.reporter

    def say(text: str, waits: bool) -> None:
        # Before the line, which is written at once and takes it along.
        reporter.emit(WaitChanged(text if waits else ""))
        reporter.emit(Log("warning", text))

    with closing(DatabaseBoard(task.lease, machine, reporter.pulse, say)) as board:
        yield board, identity_of(machine)


@contextmanager
def agent_measurer(
    task: Task, machine: Machine, schemes: Collection[str], options: Options = DEFAULTS
) -> Iterator[RemoteMeasurer]:
    """Measure experiments of the schemes on the machine; afterwards nothing of the run waits for it.

    `options`: how loop bodies are made; a simulated agent has none.
    """
    with agent_board(task, machine) as (board, identity):
        facts = machine.facts
        settings = Settings()
        journal = DriftJournal(task.lease, machine.isa, task.reporter.emit)
        watch = DriftWatch(settings, journal, seed=task.lease.token)
        if facts.get("simulated"):
            yield RemoteMeasurer(
                board,
                identity,
                None,
                settings,
                True,
                assemble=stand_in,
                assemble_in_order=stand_in,
                watch=watch,
            )
        else:
            options = suited_options(machine, task.run.created, options)
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


def suited_options(machine: Machine, before: datetime, options: Options = DEFAULTS) -> Options:
    """Options with what lessens waste on the machine.

    By what was measured of it before a run was begun, so that a run which goes on goes on alike, and so that
    bodies of what was measured can be made again.
    """
    options = replace(options, written_lines=written_lines_of(machine, before=before))
    row = newest_front_end(machine, before=before)
    least = None if row is None else read_front_end(settled_readings(row)).unhindered_bytes
    return options if least is None else replace(options, least_bytes=least)


def written_lines_of(machine: Machine, before: datetime) -> int | None:
    """Cache lines that stores of experiments take turns in: as many as the machine was found to write at its
    full rate until then, None where it writes the usual number so, or where that was not measured."""
    rows = LatencySet.objects.filter(machine=machine, created__lt=before).order_by("-pk")
    curve = store_curves(rows.values_list("memory", flat=True).first() or []).get(_USUAL_STORE)
    if curve is None or not FEWEST_WRITTEN_LINES <= curve.plateau < WRITTEN_LINES:
        return None
    return curve.plateau


def chosen_schemes(isa: ISA, selection: str | list[int]) -> list[str]:
    """The schemes of a run's selection, sorted; all means those that can be inferred anything of."""
    chosen = selected_schemes(isa, selection)
    return sorted(
        isa.schemes.filter(exclusion="").values_list("text", flat=True) if chosen is None else chosen
    )


def within_reach(measurer: RemoteMeasurer, schemes: Sequence[str], log: LogText) -> list[str]:
    """The schemes that can be measured there; the log tells how many others there are, and why."""
    obstacles = {scheme: measurer.obstacle(scheme) for scheme in schemes}
    _log_left_out({scheme: reason for scheme, reason in obstacles.items() if reason}, log)
    reachable = [scheme for scheme, reason in obstacles.items() if not reason]
    if not reachable:
        raise JobError("none of the chosen schemes can be measured there: choose others")
    return reachable


def log_breakers(measurer: RemoteMeasurer, schemes: Sequence[str], log: LogText) -> None:
    """The log tells which instructions stand before others to break dependencies, and what they cost."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for scheme in schemes:
        for kind in measurer.breakers(scheme):
            by_kind[COSTS[kind]].append(scheme)
    for cost, named in by_kind.items():
        shown = "; ".join(named[:_SHOWN]) + (" …" if len(named) > _SHOWN else "")
        log(f"{len(named)} scheme(s) are measured together with a breaker, {cost}: {shown}", "info")


def spread(schemes: Sequence[str], n: int | None) -> Sequence[str]:
    """n of the schemes at equal distances in their order, all where there are no more or n is None.

    Sorted texts have kin side by side, so every family of instructions gives its share.
    """
    if n is None or n >= len(schemes):
        return schemes
    return [schemes[k * len(schemes) // n] for k in range(n)]


def measured_alone(measurer: Measurer, schemes: Sequence[str], log: LogText) -> dict[str, float]:
    """Measure every scheme alone: {scheme: cycles} of those that settle; the log names the others.

    Raises `JobError` where too few settle to trust any.
    """
    results = list(measurer.measure(plan.singletons(schemes)))
    failed = _with_state(results, MeasurementState.FAILED)
    contended = _with_state(results, MeasurementState.CONTENDED)
    unsettled = _with_state(results, MeasurementState.UNSETTLED)
    _log_left_out({result.experiment.schemes[0]: result.note or "failed" for result in failed}, log)
    reasons = {result.experiment.schemes[0]: "its measurements did not agree" for result in unsettled}
    reasons |= {result.experiment.schemes[0]: "the computer was too disturbed" for result in contended}
    _log_left_out(reasons, log)
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
    if len(settled) < LEAST_SETTLED * possible:
        raise JobError(
            f"only {len(settled)} of {possible} single instructions could be measured reliably: this "
            "computer is too disturbed to infer anything from. Stop other work on it, give a virtual machine "
            "processors of its own, see the advice on the machine's page, and start the run again"
        )
    return settled


def _with_state(results: Sequence[Measured], state: MeasurementState) -> list[Measured]:
    return [result for result in results if result.state is state]


def _log_left_out(reasons: Mapping[str, str], log: LogText) -> None:
    """One line per reason: how many schemes, and which."""
    schemes: defaultdict[str, list[str]] = defaultdict(list)
    for scheme, reason in reasons.items():
        schemes[reason].append(scheme)
    for reason, named in schemes.items():
        shown = "; ".join(named[:_SHOWN]) + (" …" if len(named) > _SHOWN else "")
        noun = "scheme is" if len(named) == 1 else "schemes are"
        log(f"{len(named)} {noun} left out, {reason}: {shown}", "warning")


def settled_share(results: Sequence[Measured]) -> float:
    """How many of the experiments settled, 0 to 1; of those that could be executed at all."""
    possible = [result for result in results if result.state is not MeasurementState.FAILED]
    return sum(result.usable for result in possible) / len(possible) if possible else 0.0


@contextmanager
def opened(
    task: Task, machine: Machine, selection: str | list[int], options: Options = DEFAULTS
) -> Iterator[tuple[Measurer, Sequence[str]]]:
    """Who measures, and the chosen schemes, sorted; of a simulated machine those that it knows.

    A computer may be unable to measure some of them; there, `options` say how loop bodies are made. Raises
    `JobError` where none is left.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        processor, known = simulated_machine(machine)
        wanted = selected_schemes(machine.isa, selection)
        schemes = sorted(known if wanted is None else known & wanted)
        if not schemes:
            raise JobError("none of the chosen schemes can be measured there: choose others")
        yield processor, schemes
        return
    chosen = chosen_schemes(machine.isa, selection)
    with agent_measurer(task, machine, chosen, options) as measurer:
        yield measurer, chosen


def simulated_machine(machine: Machine) -> tuple[SimulatedProcessor, set[str]]:
    """The machine as a measurer, and the schemes it knows. Raises `JobError`."""
    mapping = _truth(machine)
    noise = {name: machine.facts[name] for name in (*NOISE, *OF_BLOCKS) if name in machine.facts}
    return SimulatedProcessor(mapping, seed=machine.facts.get("seed", 0), **noise), known_schemes(mapping)


def known_schemes(mapping: PortMapping) -> set[str]:
    """The schemes that a processor of this mapping takes any time for."""
    return {scheme for scheme, uops in mapping.usage.items() if uops}


def _truth(machine: Machine) -> PortMapping:
    """The port mapping that the machine keeps as a document of the exchange."""
    document = json.dumps(machine.facts.get("mapping")).encode()
    parsed = parse(document, f"the mapping of {machine.name}", AnyNames())
    if parsed.mapping is None:
        raise JobError("; ".join(parsed.lines()) or f"the machine {machine.name!r} has no port mapping")
    return parsed.mapping


class DriftJournal:
    """Takes the rounds of one attempt of a run.

    The run that is under way goes on with the answer it was given; what is stored is the amended one, whose
    note has the number before, and the journal has all of them. Raises `LeaseLostError` where the run is
    somebody else's now.
    """

    def __init__(self, lease: Lease, isa: ISA, emit: Callable[[Event], None]) -> None:
        self._lease = lease
        self._isa = isa
        self._emit = emit

    def __call__(self, check: DriftCheck) -> None:
        for before, result in check.amended:
            self._amend(before, result)
        self._emit(DriftChecked.of(check))
        for each in check.compared:
            if each.verdict in {DriftVerdict.REPLACED, DriftVerdict.UNSETTLED}:
                self._emit(Log("warning", _told(each)))

    def _amend(self, before: float, result: Measured) -> None:
        """Put the new result where the contradicted one is; rows are never changed, so it is another row."""
        with transaction.atomic():
            # Matching the row also locks it: nobody can take the run over meanwhile.
            if not held(self._lease).update(lease_token=self._lease.token):
                raise LeaseLostError(self._lease.run_id, self._lease.token)
            experiment = store_experiments(self._isa, [result.experiment])[result.experiment]
            contradicted = Measurement.objects.filter(
                experiment_set__run=self._lease.run_id,
                experiment=experiment,
                state=Measurement.State.SETTLED,
                cycles=before,
            )
            for row, made, repeat in contradicted.values_list("pk", "experiment_set", "repeat"):
                Measurement.objects.filter(pk=row).delete()
                store_measurements(ExperimentSet.objects.get(pk=made), [result], repeat)


def _told(comparison: DriftComparison) -> str:
    again = " and ".join(f"{cycles:.4g}" for cycles in comparison.after)
    what = (
        "the last number replaces it"
        if comparison.verdict is DriftVerdict.REPLACED
        else "it counts as unsettled"
    )
    return (
        f"{comparison.experiment}: {comparison.before:.4g} cycles before, measured again as {again}: {what}"
    )
