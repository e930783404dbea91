"""What the commands have in common that do a run: they supervise its process and tell how it goes.

The run is one like any other, under a lease that the command holds: a running site shows it live, and takes
it over if the shell dies. Ctrl-C cancels it; SIGTERM and SIGHUP put it back into the queue, for the site.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator

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
from inference.runs.request import SELECTIONS
from inference.runs.supervisor import RunSupervisor
from inference.runs.worker import worker_name
from inference.storage.rows import scheme_ids
from inference.web.data_command import DataCommand

SCHEMES_METAVAR = f"probes|starter|default|{'|'.join(GROUP_SELECTIONS)}|all|FILTER"

_TELL_EVERY = 1.0


class RunCommand(DataCommand):
    """A command that does one run from start to end."""

    def do_run(self, submitted: Callable[[], Run]) -> Run:
        """Do the run that `submitted` queues; raises `CommandError` unless it ends well.

        It is claimed in the transaction that makes it, so that no worker is faster.
        """
        with transaction.atomic():
            run = submitted()
            lease = leases.claim(worker_name(), only=run.pk)
            assert lease is not None, "nobody else can see the run before this transaction ends"
        asyncio.run(self._work(run, lease))
        run.refresh_from_db()
        if run.state != Run.State.DONE:
            raise CommandError(_how_it_ended(run))
        return run

    async def _work(self, run: Run, lease: Lease) -> None:
        """Supervise the run's process and tell how it goes."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        wishes: set[asyncio.Task[None]] = set()

        def cancel() -> None:
            self._report("cancelling …")
            wishes.add(loop.create_task(database_sync_to_async(_cancel)(run)))

        loop.add_signal_handler(signal.SIGINT, cancel)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stopping.set)
        self._report(f"run {run.pk}: {run.name}")
        with RunProcesses() as processes:
            supervised = asyncio.create_task(RunSupervisor(lease, stopping, processes).run())
            seq = 0
            while not supervised.done():
                await asyncio.wait({supervised}, timeout=_TELL_EVERY)
                seq = await database_sync_to_async(self._tell)(run.pk, seq)
            await asyncio.gather(*wishes, supervised)

    def _tell(self, run_id: int, seq: int) -> int:
        """What the journal says since `seq`, one line each; returns the number of the last event."""
        events = events_since(run_id, seq)
        for event in events:
            told = journal_events.read(event["kind"], event["payload"])
            if told is not None and (line := self.line(told)):
                self._report(line)
        return events[-1]["seq"] if events else seq

    def _report(self, text: str) -> None:
        """Write a line, where there still is somewhere to write to: a closed terminal has sent SIGHUP."""
        with contextlib.suppress(OSError):
            self.stderr.write(text)

    def line(self, event: Event) -> str:
        """An event for the shell; "" for those that only pictures need."""
        return event.line()


def add_set_option(parser: ArgumentParser, what: str) -> None:
    """Declare `--set key=value`, which may be repeated: `overrides` of the options, for `named_values`."""
    parser.add_argument(
        "--set", metavar="key=value", action="append", default=[], dest="overrides", help=what
    )


def named_values(overrides: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What `--set` has been given, as names and values. Raises `CommandError`."""
    for pair in overrides:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise CommandError(f"--set takes key=value, not {pair!r}")
        yield key, value


Select = Callable[[QuerySet[InstructionScheme], str], QuerySet[InstructionScheme]]


def chosen_schemes(isa: ISA, selection: str, select: Select = select_schemes) -> Json:
    """The fields of a run's description that choose schemes, from what `--schemes` says.

    `select`: what a selection means.
    """
    word = selection.strip().lower()
    if word in ("all", PROBE_SELECTION):
        return {"schemes": word}
    chosen = list(select(isa.schemes.all(), selection).values_list("pk", flat=True))
    if not chosen:
        raise CommandError(
            f"--schemes {selection!r} selects none of the {len(scheme_ids(isa))} schemes of {isa.name}"
        )
    return {"schemes": word} if word in SELECTIONS else {"schemes": chosen, "scheme_filter": selection}


def _cancel(run: Run) -> None:
    with contextlib.suppress(RunStateError):  # it has ended in the meantime
        lifecycle.cancel(run)


def _how_it_ended(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return f"run {run.pk} failed: {run.error}{_what_is_kept(run)}"
    if run.state in Run.FINAL:
        return f"run {run.pk} was {run.get_state_display()}{_what_is_kept(run)}"
    here = "`manage.py runs"
    if run.state == Run.State.PAUSED:
        return (
            f"run {run.pk} is paused: {here} resume {run.pk}` lets it go on, {here} cancel {run.pk}` ends it"
        )
    return (
        f"run {run.pk} is {run.get_state_display()} and left to the site, whose worker goes on with it: "
        f"{here} show {run.pk}` says how it is, {here} cancel {run.pk}` ends it"
    )


def _what_is_kept(run: Run) -> str:
    """The measurements of a run that did not come to its end, a line per set; "" where there are none."""
    counted = run.experiment_sets.annotate(size=Count("measurements")).order_by("id")
    return "".join(
        f"\nexperiment set {made.name!r} keeps what was measured: {made.size} experiments, /sets/{made.pk}/"
        for made in counted
    )
