"""`manage.py doubts`: what is doubtful in a port mapping, and which experiments speak for it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.core.doubting import LABELS, Doubt, DoubtKind, Doubts
from inference.core.mapping import described
from inference.features.judging.doubts.evidence import DoubtDecision
from inference.features.judging.doubts.query import DoubtsOf, ask
from inference.features.judging.doubts.request import NONE, DoubtsRequest
from inference.formats.quoting import shell_option
from inference.models import Evaluation, ExperimentSet, PortMapping
from inference.storage.evaluations import evaluations_of
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file
from inference.web.validation import read

LISTED = 20  # doubts of a kind that the output names


class Command(DataCommand):
    """Doubts in the shell; see the module."""

    help = (
        "List what is ambiguous, excluded, badly predicted, or in conflict with another mapping; for one "
        "scheme also the experiments to measure again (manage.py measure --experiment) and one that decides."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument(
            "--against",
            metavar="OTHER",
            help="a mapping to compare it with, or none (default: another one of the same machine)",
        )
        parser.add_argument(
            "--dataset",
            metavar="NAME",
            help="the set whose evaluation tells what is badly predicted (default: the first there is)",
        )
        parser.add_argument(
            "--over",
            type=float,
            default=DoubtsRequest().over,
            metavar="PERCENT",
            help="mean error above which a scheme is badly predicted (default: %(default)g)",
        )
        parser.add_argument("--kind", choices=[kind.value for kind in DoubtKind], help="only these")
        parser.add_argument("--scheme", metavar="TEXT", help="all about the doubts of this scheme")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write all of them to a file as well")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the doubts, or everything about those of one scheme."""
        scheme = options["scheme"]
        found = _found(options)
        chosen = [each for each in found.listed if scheme in (None, each.scheme)]
        doubts = Doubts(tuple(chosen), found.doubts.ports)
        if options["csv"] is not None:
            write_file(options["csv"], replace(found, listed=doubts.rows).csv.encode())
        experiments = {} if scheme is None else {each: found.again(each) for each in chosen}
        decided = {} if scheme is None else found.decisions(chosen)
        if options["json"]:
            told = [_as_json(each, doubts.ports, experiments.get(each), decided.get(each)) for each in chosen]
            self.stdout.write(json.dumps({"mapping": found.row.name, "doubts": told}, ensure_ascii=False))
            return
        self._tell(doubts, cut=scheme is None)
        for doubt, listed in experiments.items():
            self.stdout.write(f"measure again ({LABELS[doubt.kind]}):")
            for experiment in listed:
                self.stdout.write(f"  {experiment}")
            if (decision := decided.get(doubt)) is not None:
                self.stdout.write(f"would decide: {_in_words(decision)}")

    def _tell(self, doubts: Doubts, *, cut: bool) -> None:
        counts = doubts.counts
        for kind, label in LABELS.items():
            if not counts[kind]:
                continue
            self.stdout.write(f"{label}: {counts[kind]}")
            rows = [each for each in doubts.rows if each.kind is kind]
            for each in rows[:LISTED] if cut else rows:
                usage = "" if each.here is None else f" {described(each.here, doubts.ports)};"
                self.stdout.write(f"  {each.scheme}:{usage} {each.words}")
            if cut and len(rows) > LISTED:
                self.stdout.write(f"  … and {len(rows) - LISTED} more; --csv writes them all")
        if not doubts.rows:
            self.stdout.write("nothing is doubtful, as far as is known")


def _found(options: dict[str, Any]) -> DoubtsOf:
    row = by_name(PortMapping, options["mapping"])
    against = options["against"]
    asked = {
        "other": against if against in (None, NONE) else by_name(PortMapping, against).pk,
        "evaluation": None if options["dataset"] is None else _evaluation(row, options["dataset"]).pk,
        "over": options["over"],
        "kind": options["kind"],
    }
    return ask(row, read(DoubtsRequest, asked))


def _evaluation(row: PortMapping, dataset: str) -> Evaluation:
    wanted = by_name(ExperimentSet, dataset)
    found = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES, experiment_set=wanted).first()
    if found is None:
        both = f"{shell_option('--mapping', row.name)} {shell_option('--dataset', wanted.name)}"
        raise CommandError(
            f"{row.name!r} has not been evaluated on {wanted.name!r}: manage.py evaluate {both}"
        )
    return found


def _as_json(
    doubt: Doubt, ports: tuple[str, ...], listed: list[Any] | None, decision: DoubtDecision | None
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": doubt.kind.value,
        "scheme": doubt.scheme,
        "why": doubt.words,
        "uops": None if doubt.here is None else described(doubt.here, ports),
        "others": [described(uops, ports) for uops in doubt.others],
    }
    if listed is not None:
        told["again"] = [str(each) for each in listed]
        told["decides"] = None if decision is None else str(decision.distinction.experiment)
    return told


def _in_words(decision: DoubtDecision) -> str:
    said = decision.distinction
    measured = "not measured" if decision.measured is None else f"measured {decision.measured:.3f}"
    return f"{said.experiment}: {said.first:.3f} here, {said.second:.3f} otherwise, {measured}"
