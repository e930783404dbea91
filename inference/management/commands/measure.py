"""`manage.py measure`: experiments on a machine, kept as an experiment set; see `run_command`."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.core.protocols import Json
from inference.exchange.names import by_name
from inference.management.run_command import SCHEMES_METAVAR, RunCommand, chosen_schemes
from inference.models import Machine, Run
from inference.runs import lifecycle
from inference.runs.jobs.infer_config import DEFAULT_SEED
from inference.runs.jobs.measure import PLANS, MeasureConfig, effort


class Command(RunCommand):
    """One measuring run from start to end; see the module."""

    help = "Measure experiments on a machine. Ctrl-C cancels; what was measured until then is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default=MeasureConfig.schemes,
            help="which schemes, in words or as in the scheme table's search box (default: starter)",
        )
        parser.add_argument(
            "--plan",
            choices=PLANS,
            default=MeasureConfig.plan,
            help=f"every scheme alone; PMEvo's plan: alone and in pairs; random mixes ({MeasureConfig.plan})",
        )
        parser.add_argument(
            "--mixes", type=int, metavar="N", default=MeasureConfig.mixes, help="with --plan mixes: how many"
        )
        parser.add_argument(
            "--length",
            type=int,
            metavar="L",
            default=MeasureConfig.length,
            help="with --plan mixes: instructions in each",
        )
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, metavar="S", help="chooses the mixes")
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
        config: Json = {
            "machine": machine.pk,
            **{key: options[key] for key in ("plan", "mixes", "length", "seed")},
            **chosen_schemes(machine.isa, options["schemes"]),
        }
        name = options["name"] or lifecycle.unused_name(f"{options['plan']} on {machine.name}"[:180])
        run = lifecycle.submit("measure", config, name)
        count = machine.isa.schemes.count() if config["schemes"] == "all" else len(config["schemes"])
        wanted = effort(machine, count, options["plan"], options["mixes"])
        self.stderr.write(f"about {wanted.experiments} experiments, {wanted.seconds:.0f} s of measuring")
        return run
