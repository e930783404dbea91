"""`manage.py scheduler MODEL`: infers the scheduler of a core model, or prints it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.features.learning.scheduler.job import SchedulerConfig
from inference.features.learning.scheduler.query import scheduler_answer, summary
from inference.models import ExperimentSet, Machine, StoredCoreModel
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import RunCommand


class Command(RunCommand):
    """Runs an inference of a scheduler to its end, or prints a stored one."""

    help = "Infer how a core's scheduler binds µops to ports. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="MODEL", help="a core model")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--machine", metavar="NAME", help="machine that measures the experiments")
        source.add_argument("--set", metavar="NAME", help="an experiment set with such experiments")
        source.add_argument("--show", action="store_true", help="print the stored scheduler")
        add_request_options(parser, SchedulerConfig, seconds="time limit in seconds (default: %(default)s)")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(StoredCoreModel, options["name"])
        if not options["show"]:
            self.do_run(lambda: self._submit(row, options))
            row.refresh_from_db()
        answer = scheduler_answer(row)
        lines = [f"core model {row.name!r}: {summary(answer)}"]
        lines += [f"  {sentence}" for sentence in answer["words"]]
        self.print_answer(answer, lines, as_json=options["json"])

    def _submit(self, row: StoredCoreModel, options: dict[str, Any]) -> Any:
        config: dict[str, Any] = {"core_model": row.pk, "seconds": options["seconds"]}
        if options["machine"]:
            config["machine"] = by_name(Machine, options["machine"]).pk
        else:
            config["experiment_set"] = by_name(ExperimentSet, options["set"]).pk
        return lifecycle.submit("scheduler", config)
