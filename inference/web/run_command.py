"""Base of commands that execute a run: they supervise its process and print its progress.

It is an ordinary run under a lease of the command: a running site shows it live, and its worker continues it
if the shell dies. Ctrl-C cancels the run; SIGTERM and SIGHUP requeue it for the site's worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence

from channels.db import database_sync_to_async
from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import Count, QuerySet

from inference.core.events import Event
from inference.core.protocols import Json
from inference.formats import journal_events
from inference.models import ISA, InstructionScheme, Run
from inference.models.scheme_search import GROUP_SELECTIONS, PROBE_SELECTION, select_schemes
from inference.runs import leases, lifecycle
from inference.runs.child import RunProcesses
from inference.runs.errors import RunStateError
from inference.runs.journal import Lease, events_since
from inference.runs.plans import PlannedStep, RunPlan, plan_of
from inference.runs.request import SELECTIONS
from inference.runs.supervisor import RunSupervisor
from inference.runs.worker import worker_name
from inference.storage.rows import scheme_ids
from inference.web.data_command import DataCommand
from inference.web.presentation import about, about_range, duration

SCHEMES_METAVAR = f"probes|starter|default|{'|'.join(GROUP_SELECTIONS)}|all|FILTER"

_REPORT_INTERVAL = 1.0


class RunCommand(DataCommand):
    def do_run(self, submit: Callable[[], Run]) -> Run:
        """Execute the run that `submit` queues; raises `CommandError` unless it ends as done.

        The run is claimed in the transaction that creates it, so that no worker is faster.
        """
        with transaction.atomic():
            run = submit()
            lease = leases.claim(worker_name(), only=run.pk)
            assert lease is not None, "no other process sees the run before this transaction ends"
        asyncio.run(self._work(run, lease))
        run.refresh_from_db()
        if run.state != Run.State.DONE:
            raise CommandError(_ending(run))
        return run

    async def _work(self, run: Run, lease: Lease) -> None:
        """Supervise the run's process and print its events."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        cancellations: set[asyncio.Task[None]] = set()

        def cancel() -> None:
            self._report("cancelling …")
            cancellations.add(loop.create_task(database_sync_to_async(_cancel)(run)))

        loop.add_signal_handler(signal.SIGINT, cancel)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stopping.set)
        self._report(f"run {run.pk}: {run.name}")
        for line in await database_sync_to_async(lambda: plan_lines(plan_of(run)))():
            self._report(f"  {line}")
        with RunProcesses() as processes:
            supervisor = asyncio.create_task(RunSupervisor(lease, stopping, processes).run())
            seq = 0
            while not supervisor.done():
                await asyncio.wait({supervisor}, timeout=_REPORT_INTERVAL)
                seq = await database_sync_to_async(self._report_events)(run.pk, seq)
            await asyncio.gather(*cancellations, supervisor)

    def _report_events(self, run_id: int, seq: int) -> int:
        """Print the events after `seq`; returns the number of the last one."""
        events = events_since(run_id, seq)
        for event in events:
            value = journal_events.read(event["kind"], event["payload"])
            if value is not None and (line := self.line(value)):
                self._report(line)
        return events[-1]["seq"] if events else seq

    def _report(self, text: str) -> None:
        """Write a line; a closed terminal, which has sent SIGHUP, is no error."""
        with contextlib.suppress(OSError):
            self.stderr.write(text)

    def line(self, event: Event) -> str:
        """The line of an event; "" for events that only pages use."""
        return event.line()


def plan_lines(plan: RunPlan) -> list[str]:
    """What a run takes, in total and step by step, as lines of the shell."""
    lines = []
    if plan.left is not None:
        span = about_range(plan.left)
        lines.append(f"about {about(plan.left.likely)} left{f' ({span})' if span else ''}. {plan.reason}")
    return [*lines, *(f"{step.label}: {_step_text(step)}" for step in plan.steps)]


def _step_text(step: PlannedStep) -> str:
    if step.part is not None and step.part.is_reused:
        name = step.part.run.name if step.part.run is not None else "an earlier run"
        return f"reused from {name}, saves about {about(step.expected)}"
    if step.state == "current" and step.left is not None:
        return f"about {about(step.left)} left"
    if step.seconds is not None:
        return duration(step.seconds)
    return f"about {about(step.left)}" if step.left else "not known yet"


def add_set_option(parser: ArgumentParser, noun: str) -> None:
    """Add the repeatable option `--set key=value`, whose values `named_values` parses."""
    parser.add_argument(
        "--set", metavar="key=value", action="append", default=[], dest="overrides", help=noun
    )


def named_values(overrides: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(key, value) pairs of the values of `--set`. Raises `CommandError`."""
    for pair in overrides:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise CommandError(f"--set takes key=value, not {pair!r}")
        yield key, value


Select = Callable[[QuerySet[InstructionScheme], str], QuerySet[InstructionScheme]]


def chosen_schemes(isa: ISA, selection: str, select: Select = select_schemes) -> Json:
    """The fields of a run's description for the option `--schemes`; `select` filters by a selection."""
    word = selection.strip().lower()
    if word in ("all", PROBE_SELECTION):
        return {"schemes": word}
    selected_ids = list(select(isa.schemes.all(), selection).values_list("pk", flat=True))
    if not selected_ids:
        raise CommandError(
            f"--schemes {selection!r} selects none of the {len(scheme_ids(isa))} schemes of {isa.name}"
        )
    return {"schemes": word} if word in SELECTIONS else {"schemes": selected_ids, "scheme_filter": selection}


def scheme_count(isa: ISA, schemes: str | Sequence[int]) -> int:
    """The number of schemes that a field of `chosen_schemes` selects."""
    return select_schemes(isa.schemes.all(), schemes).count() if isinstance(schemes, str) else len(schemes)


def _cancel(run: Run) -> None:
    with contextlib.suppress(RunStateError):  # it has ended in the meantime
        lifecycle.cancel(run)


def _ending(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return f"run {run.pk} failed: {run.error}{_stored_measurements(run)}"
    if run.state in Run.FINAL:
        return f"run {run.pk} was {run.get_state_display()}{_stored_measurements(run)}"
    command = "`manage.py runs"
    if run.state == Run.State.PAUSED:
        end = f"{command} cancel {run.pk}` ends it"
        return f"run {run.pk} is paused: {command} resume {run.pk}` resumes it, {end}"
    return (
        f"run {run.pk} is {run.get_state_display()} and left to the site, whose worker goes on with it: "
        f"{command} show {run.pk}` says how it is, {command} cancel {run.pk}` ends it"
    )


def _stored_measurements(run: Run) -> str:
    """A line per experiment set that an unfinished run has measured; "" without sets."""
    sets = run.experiment_sets.annotate(size=Count("measurements")).order_by("id")
    return "".join(
        f"\nexperiment set {row.name!r} keeps what was measured: {row.size} experiments, /sets/{row.pk}/"
        for row in sets
    )
