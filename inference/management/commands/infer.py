"""`manage.py infer`: from measurements to a port mapping, in the shell.

The run is one like any other, under a lease that this command holds: a running site shows it live, and takes
it over if the shell dies or is ended by SIGTERM or SIGHUP. Ctrl-C cancels it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from channels.db import database_sync_to_async
from django.core.management.base import CommandError
from django.db import transaction

from inference.core.protocols import Json
from inference.exchange.errors import ExchangeError
from inference.exchange.importing import commit, preview
from inference.exchange.names import by_name, free_name
from inference.exchange.stored import scheme_ids
from inference.isa.search import SearchError
from inference.management.data_command import DataCommand
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run
from inference.models.scheme_search import select_schemes
from inference.runs import leases, lifecycle
from inference.runs.errors import RunsError, RunStateError
from inference.runs.jobs.algorithms import ALGORITHMS
from inference.runs.jobs.infer_config import DEFAULT_SEED, NOISE
from inference.runs.journal import events_since
from inference.runs.lease import Lease
from inference.runs.supervisor import Supervisor
from inference.runs.worker import worker_name

_TELL_EVERY = 1.0


class Command(DataCommand):
    """One inference run from start to end; see the module."""

    help = "Infer a port mapping from recorded data, a machine, or a simulated processor. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--algorithm", choices=list(ALGORITHMS), required=True)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--machine", metavar="NAME", help="machine that measures")
        source.add_argument(
            "--dataset",
            metavar="NAME",
            action="append",
            help="experiment set to learn from; may be repeated",
        )
        source.add_argument(
            "--simulate", metavar="NAME-OR-FILE", help="port mapping of a processor to simulate"
        )
        parser.add_argument(
            "--schemes",
            metavar="starter|default|all|FILTER",
            default="",
            help="which schemes, in words or as in the scheme table's search box (all; a machine: default)",
        )
        parser.add_argument("--ports", type=int, metavar="N", help="number of ports")
        parser.add_argument(
            "--seed", type=int, default=DEFAULT_SEED, metavar="S", help=f"default: {DEFAULT_SEED}"
        )
        parser.add_argument("--name", default="", help="name of the run and of its mapping")
        parser.add_argument(
            "--evaluate", metavar="NAME", help="experiment set to judge by, instead of held-out experiments"
        )
        parser.add_argument(
            "--set",
            metavar="key=value",
            action="append",
            default=[],
            dest="overrides",
            help=f"a setting of the algorithm, or of the simulation: {', '.join(NOISE)}",
        )
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run to the end; an exit code other than 0 unless there is a mapping."""
        try:
            run, lease = self._start(options)
        except (ExchangeError, RunsError, SearchError) as error:
            raise CommandError(str(error)) from error
        asyncio.run(self._work(run, lease))
        run.refresh_from_db()
        if run.state != Run.State.DONE:
            raise CommandError(_how_it_ended(run))
        self._conclude(run, as_json=options["json"])

    def _start(self, options: dict[str, Any]) -> tuple[Run, Lease]:
        """The run, claimed in the transaction that makes it, so that no worker is faster."""
        with transaction.atomic():
            source, isa, learns_from = self._source(options)
            noise, settings = _split_settings(options["overrides"])
            if noise and "simulate" not in source:
                raise CommandError(f"--set {next(iter(noise))} is for --simulate only")
            config: Json = {
                "algorithm": options["algorithm"],
                "source": source | noise,
                "settings": settings,
                "seed": options["seed"],
                **_schemes(isa, options["schemes"] or ("default" if options["machine"] else "all")),
            }
            if options["ports"] is not None:
                config["ports"] = options["ports"]
            if options["evaluate"]:
                config["evaluate"] = by_name(ExperimentSet, options["evaluate"]).pk
            title = ALGORITHMS[options["algorithm"]].title
            name = options["name"] or lifecycle.unused_name(f"{title} on {learns_from}"[:180])
            run = lifecycle.submit("infer", config, name)
            lease = leases.claim(worker_name(), only=run.pk)
            assert lease is not None, "nobody else can see the run before this transaction ends"
            return run, lease

    def _source(self, options: dict[str, Any]) -> tuple[Json, ISA, str]:
        """The run's source, its instruction set, and what to call it."""
        if options["machine"]:
            machine = by_name(Machine, options["machine"])
            return {"machine": machine.pk}, machine.isa, machine.name
        if options["dataset"]:
            sets = [by_name(ExperimentSet, name) for name in options["dataset"]]
            return {"datasets": [row.pk for row in sets]}, sets[0].isa, sets[0].name
        wanted = options["simulate"]
        if not PortMapping.objects.filter(name=wanted).exists() and Path(wanted).is_file():
            mapping = self._import(Path(wanted))
        else:
            mapping = by_name(PortMapping, wanted)
        return {"simulate": mapping.pk}, mapping.isa, f"simulated {mapping.name}"

    def _import(self, path: Path) -> PortMapping:
        """The mapping in a file, imported like any other so that it can be compared with what is found."""
        seen = preview(path.read_bytes(), path.name)
        if not seen.acceptable:
            raise CommandError("\n".join(["nothing was imported", *seen.parsed.lines()]))
        if seen.parsed.mapping is None:
            raise CommandError(f"{path} holds experiments; --simulate needs a port mapping")
        row = commit(seen, free_name(PortMapping, seen.name)).row
        assert isinstance(row, PortMapping)
        self.stderr.write(f"{path} imported as the port mapping {row.name!r}")
        return row

    async def _work(self, run: Run, lease: Lease) -> None:
        """Supervise the run's process and tell how it goes."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        wishes: set[asyncio.Task[None]] = set()

        def cancel() -> None:
            self.stderr.write("cancelling …")
            wishes.add(loop.create_task(database_sync_to_async(_cancel)(run)))

        loop.add_signal_handler(signal.SIGINT, cancel)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stopping.set)
        self.stderr.write(f"run {run.pk}: {run.name}")
        supervised = asyncio.create_task(Supervisor(lease, stopping).run())
        seq = 0
        while not supervised.done():
            await asyncio.wait({supervised}, timeout=_TELL_EVERY)
            seq = await database_sync_to_async(self._tell)(run.pk, seq)
        await asyncio.gather(*wishes, supervised)

    def _tell(self, run_id: int, seq: int) -> int:
        """What the journal says since `seq`, one line each; returns the number of the last event."""
        events = events_since(run_id, seq)
        for event in events:
            line = _line(event["kind"], event["payload"])
            if line:
                self.stderr.write(line)
        return events[-1]["seq"] if events else seq

    def _conclude(self, run: Run, *, as_json: bool) -> None:
        result = run.result
        answer = {
            "mapping": result["name"],
            "url": result["url"],
            "schemes": result["schemes"],
            "experiments": result["experiments"],
            "seconds": round(run.busy_seconds, 3),
            "held_out": result["held_out"],
        }
        if as_json:
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(f"port mapping {answer['mapping']!r}: {answer['schemes']} schemes, {answer['url']}")
        scores = answer["held_out"]
        if scores is not None and scores["mape"] is not None:
            self.stdout.write(f"  MAPE {scores['mape']:.2f} % on {scores['n']} experiments not learnt from")


def _cancel(run: Run) -> None:
    with contextlib.suppress(RunStateError):  # it has ended in the meantime
        lifecycle.cancel(run)


def _split_settings(pairs: list[str]) -> tuple[Json, Json]:
    """`--set` options as those of the simulation and those of the algorithm."""
    noise: Json = {}
    settings: Json = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise CommandError(f"--set takes key=value, not {pair!r}")
        if key not in NOISE:
            settings[key] = value
            continue
        try:
            noise[key] = float(value)
        except ValueError:
            raise CommandError(f"--set {key}: a number is expected, not {value!r}") from None
    return noise, settings


def _schemes(isa: ISA, selection: str) -> Json:
    if selection.strip().lower() == "all":
        return {"schemes": "all"}
    chosen = list(select_schemes(isa.schemes.all(), selection).values_list("pk", flat=True))
    if not chosen:
        raise CommandError(
            f"--schemes {selection!r} selects none of the {len(scheme_ids(isa))} schemes of {isa.name}"
        )
    return {"schemes": chosen, "scheme_filter": selection}


def _line(kind: str, payload: Json) -> str:
    """An event for the shell; "" for those that only pictures need."""
    if kind == "phase":
        labels = payload["labels"]
        return f"[{payload['index']}/{len(labels)}] {labels[payload['index'] - 1]}"
    if kind == "progress":
        eta = "" if payload["eta"] is None else f", {payload['eta']:.0f} s to go"
        return f"  {payload['done']} of {payload['total']}, {payload['rate']:.3g} {payload['unit']}/s{eta}"
    if kind == "generation":
        return f"  generation {payload['generation']}: error {payload['best_error']:.4f}"
    if kind == "congruence":
        return f"  {payload['schemes']} schemes in {payload['classes']} classes"
    return f"  {payload['text']}" if kind == "log" else ""


def _how_it_ended(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return f"run {run.pk} failed: {run.error}"
    if run.state in Run.FINAL:
        return f"run {run.pk} was {run.get_state_display()}"
    return f"run {run.pk} is {run.get_state_display()}: a running site goes on with it"
