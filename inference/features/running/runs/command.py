"""`manage.py runs`: lists runs, shows one, cancels or resumes one."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder

from inference.core.events import Progress
from inference.core.protocols import Json
from inference.features.running.runs.api import run_in_full
from inference.features.running.runs.kind_presentation import config_lines, outcomes_of
from inference.features.running.runs.query import judgement_of, runs
from inference.models import Run
from inference.runs import lifecycle
from inference.runs.kinds import label_of
from inference.runs.plans import plan_of
from inference.web.api.shapes import run_json
from inference.web.data_command import DataCommand
from inference.web.presentation import duration
from inference.web.run_command import plan_lines

LISTED = 20
LIST, SHOW = "list", "show"
CHANGES = ("cancel", "resume")


class Command(DataCommand):
    help = "List the runs, newest first; show, cancel or resume one."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", choices=(LIST, SHOW, *CHANGES), default=LIST)
        parser.add_argument("run", nargs="?", type=int, metavar="N", help="its number; list takes none")
        parser.add_argument("--state", choices=Run.State.values, default="", help="list only such runs")
        parser.add_argument(
            "--last", type=int, default=LISTED, metavar="NUMBER", help="list at most so many (%(default)s)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object per line")

    def handle(self, *args: Any, **options: Any) -> None:
        action = options["action"]
        if action == LIST:
            self._list(options)
            return
        run = _run(options["run"], action)
        if action in CHANGES:
            run = lifecycle.TRANSITIONS[action](run)
        if options["json"]:
            self._print_json(run_in_full(run) if action == SHOW else run_json(run))
            return
        for line in [_line(run), *(_details(run) if action == SHOW else ())]:
            self.stdout.write(line)

    def _list(self, options: dict[str, Any]) -> None:
        if options["run"] is not None or options["last"] < 1:
            raise CommandError("`runs list` takes no run number, and --last must be at least 1")
        rows = runs(state=options["state"]).order_by("-pk")[: options["last"]]
        for run in rows:
            if options["json"]:
                self._print_json(run_json(run))
            else:
                self.stdout.write(_line(run))

    def _print_json(self, answer: Json) -> None:
        self.stdout.write(json.dumps(answer, cls=DjangoJSONEncoder, ensure_ascii=False))


def _run(number: int | None, action: str) -> Run:
    if number is None:
        raise CommandError(f"`runs {action}` needs a run number: `manage.py runs` lists them")
    run = Run.objects.select_related("forked_from").filter(pk=number).first()
    if run is None:
        raise CommandError(f"there is no run with number {number}: `manage.py runs` lists them")
    return run


def _line(run: Run) -> str:
    requested = f", {run.get_wanted_display()} requested" if run.wanted else ""
    duration_text = f"  {duration(run.busy_seconds)}" if run.busy_seconds else ""
    return f"{run.pk}  {run.get_state_display()}{requested}  {label_of(run.kind)}  {run.name}{duration_text}"


def _details(run: Run) -> list[str]:
    """The configuration, progress, result and error of a run, one line each."""
    items = [
        (item.label, item.text or ", ".join(link.text for link in item.links)) for item in config_lines(run)
    ]
    if run.progress and run.state not in Run.FINAL:
        stage = run.progress.get("label") or run.progress["phase"]
        # A stage that has just begun has no counts yet.
        counted = Progress.read(run.progress).line().strip() if "done" in run.progress else "begun"
        items.append(("Progress", f"{stage}: {counted}"))
    items += [("Step", line) for line in plan_lines(plan_of(run))]
    outcome = outcomes_of([run]).get(run.pk)
    if outcome is not None:
        items.append(("Result", f"{outcome.name}, {outcome.url}"))
    judgement = judgement_of(run)
    if judgement is not None:
        items.append(("Verdict", judgement.text))
    if run.error:
        items.append(("Error", run.error))
    return [f"  {label}: {text}" for label, text in items]
