"""`manage.py measure`: experiments on a machine, kept as an experiment set; see `run_command`."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.core.protocols import Json
from inference.features.machines.measure.job import MeasureConfig
from inference.features.machines.measure.request import LISTED, effort
from inference.isa.body_options import FEWEST, MOST
from inference.models import Machine, Run
from inference.models.scheme_search import select_schemes
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import SCHEMES_METAVAR, RunCommand, chosen_schemes


class Command(RunCommand):
    """One measuring run from start to end; see the module."""

    help = "Measure experiments on a machine. Ctrl-C cancels; what was measured until then is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default=MeasureConfig.usual("schemes"),
            help="which schemes, in words or as in the scheme table's search box (default: starter)",
        )
        parser.add_argument(
            "--experiment",
            action="append",
            default=[],
            metavar="TEXT",
            help="an experiment to measure, e.g. '10*SCHEME; SCHEME'; as often as wanted, instead of a plan",
        )
        add_request_options(
            parser,
            MeasureConfig,
            plan="every scheme alone; PMEvo's plan: alone and in pairs; random mixes; those given by "
            "--experiment (%(default)s)",
            repeats="N: with --experiment: measure each N times",
            mixes="N: with --plan mixes: how many",
            length="L: with --plan mixes: instructions in each",
            seed="S: chooses the mixes",
            unroll=f"N: instructions of a loop body, about: {FEWEST} to {MOST} (%(default)s)",
            values="what registers and memory hold at first (%(default)s)",
        )
        parser.add_argument(
            "--break-dependencies",
            action="store_true",
            help="measure schemes with hard-wired operands together with an instruction that breaks their "
            "dependencies",
        )
        parser.add_argument("--name", default="", help="name of the run and of its experiment set")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run to the end; an exit code other than 0 unless everything was measured."""
        run = self.do_run(lambda: self._submitted(options))
        result = run.result
        answer = {
            "set": result["name"],
            "url": result["url"],
            "experiments": result["experiments"],
            "settled": result["settled"],
            "settled_share": result["settled_share"],
            "seconds": round(run.busy_seconds, 3),
        }
        if options["json"]:
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(
            f"experiment set {answer['set']!r}: {answer['experiments']} experiments, "
            f"{answer['settled']} settled, {answer['url']}"
        )

    def _submitted(self, options: dict[str, Any]) -> Run:
        """The run that the options describe."""
        machine = by_name(Machine, options["machine"])
        config = {
            "machine": machine.pk,
            **_bodies(options),
            **(_listed(options) or _planned(machine, options)),
        }
        name = options["name"] or lifecycle.unused_name(f"{config['plan']} on {machine.name}"[:180])
        run = lifecycle.submit("measure", config, name)
        complete = MeasureConfig(**run.config)
        chosen = complete.schemes
        if isinstance(chosen, str):
            count = select_schemes(machine.isa.schemes.all(), chosen).count()
        else:
            count = len(chosen)
        wanted = effort(machine, count, complete.plan, complete.given)
        self.stderr.write(f"about {wanted.experiments} experiments, {wanted.seconds:.0f} s of measuring")
        return run


def _bodies(options: dict[str, Any]) -> Json:
    """How loop bodies are made."""
    return {
        "unroll": options["unroll"],
        "breaking": options["break_dependencies"],
        "values": options["values"],
    }


def _planned(machine: Machine, options: dict[str, Any]) -> Json:
    """What is measured by a plan over schemes."""
    return {
        **{key: options[key] for key in ("plan", "mixes", "length", "seed", "repeats")},
        **chosen_schemes(machine.isa, options["schemes"]),
    }


def _listed(options: dict[str, Any]) -> Json:
    """The experiments that are given one by one; {} for none."""
    if not options["experiment"]:
        if options["plan"] == LISTED:
            raise CommandError(f"--plan {LISTED} measures what --experiment TEXT gives")
        return {}
    return {"plan": LISTED, "experiments": options["experiment"], "repeats": options["repeats"]}
