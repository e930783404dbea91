"""`manage.py measure`: measure experiments on a machine into an experiment set; see `run_command`."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.core.protocols import Json
from inference.features.machines.measure.job import MeasureConfig
from inference.features.machines.measure.request import LISTED, estimate_effort
from inference.isa.machine_bodies import MAX_BODY_LENGTH, MIN_BODY_LENGTH
from inference.models import Machine, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import SCHEMES_METAVAR, RunCommand, chosen_schemes, scheme_count


class Command(RunCommand):
    help = "Measure experiments on a machine. Ctrl-C cancels; the measurements so far are kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default=MeasureConfig.default_of("schemes"),
            help="which schemes, in words or as in the scheme table's search box (default: starter)",
        )
        parser.add_argument(
            "--experiment",
            action="append",
            default=[],
            metavar="TEXT",
            help="an experiment to measure, e.g. '10*SCHEME; SCHEME'; repeatable, instead of a plan",
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
            unroll=f"N: instructions of a loop body, about: {MIN_BODY_LENGTH} to {MAX_BODY_LENGTH} "
            "(%(default)s)",
            values="initial values of registers and memory (%(default)s)",
        )
        parser.add_argument(
            "--break-dependencies",
            dest="breaking",
            action="store_true",
            help="measure schemes with hard-wired operands together with an instruction that breaks their "
            "dependencies",
        )
        parser.add_argument("--name", default="", help="name of the run and of its experiment set")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
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
        counts = f"{answer['experiments']} experiments, {answer['settled']} settled"
        line = f"experiment set {answer['set']!r}: {counts}, {answer['url']}"
        self.print_answer(answer, [line], as_json=options["json"])

    def _submitted(self, options: dict[str, Any]) -> Run:
        machine = by_name(Machine, options["machine"])
        plan = ("plan", "mixes", "length", "seed", "repeats")
        experiments = _listed_experiments(options) or {
            **{key: options[key] for key in plan},
            **chosen_schemes(machine.isa, options["schemes"]),
        }
        bodies = {key: options[key] for key in ("unroll", "breaking", "values")}
        config = {"machine": machine.pk, **bodies, **experiments}
        run = lifecycle.submit("measure", config, options["name"])
        complete = MeasureConfig(**run.config)
        count = scheme_count(machine.isa, complete.schemes)
        estimate = estimate_effort(machine, count, complete.plan, complete.measurement_count)
        self.stderr.write(f"about {estimate.experiments} experiments, {estimate.seconds:.0f} s of measuring")
        return run


def _listed_experiments(options: dict[str, Any]) -> Json:
    """The fields of a description with listed experiments; {} without any."""
    if not options["experiment"]:
        if options["plan"] == LISTED:
            raise CommandError(f"--plan {LISTED} needs --experiment TEXT")
        return {}
    return {"plan": LISTED, "experiments": options["experiment"], "repeats": options["repeats"]}
