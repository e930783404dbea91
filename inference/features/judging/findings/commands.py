"""`manage.py doubts`, `conflicts`, `congruence` and `excess`: what is questionable, as tables or JSON."""

from __future__ import annotations

import json
from argparse import ArgumentParser, _MutuallyExclusiveGroup
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.core.mapping import described
from inference.core.misfits import LABELS, Doubt, DoubtKind
from inference.core.protocols import Json
from inference.features.judging.engine.excess_view import excess_in, excess_json, excess_table
from inference.features.judging.engine.tables import code, csv_of, shell_lines
from inference.features.judging.findings.conflicts import (
    classes_table,
    conflicts_in,
    conflicts_json,
    pairs_table,
)
from inference.features.judging.findings.congruence import (
    congruence_json,
    congruence_of,
    weak_members_table,
)
from inference.features.judging.findings.doubts import DoubtsOf, ask, doubts_table
from inference.features.judging.findings.evidence import DoubtDecision
from inference.features.judging.findings.request import NONE, ConflictsBy, ConflictsRequest, DoubtsRequest
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.formats.provenance import head_of
from inference.formats.quoting import shell_option
from inference.models import Evaluation, ExperimentSet, PortMapping
from inference.storage.evaluations import evaluations_of
from inference.storage.mappings import load_mapping
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file
from inference.web.published_page import PublishedTable
from inference.web.validation import read

LARGEST = 3  # experiments of a group
LISTED = 100  # doubts
Options = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """What a command prints: an object for programs, or tables of which `most` rows each are named."""

    as_json: Callable[[], Json]
    tables: Callable[[], Sequence[PublishedTable]]
    csv: Callable[[], str] = str
    most: int | None = None


class FindingsCommand(DataCommand):
    """Prints what is questionable of the schemes of a row."""

    model: type[PortMapping] | type[ExperimentSet] = PortMapping

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("row", metavar="MAPPING" if self.model is PortMapping else "SET")
        formats = parser.add_mutually_exclusive_group()
        formats.add_argument("--json", action="store_true", help="print one JSON object")
        self.add_options(parser, formats)

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        """Those that only this command has."""

    def findings(self, row: Any, options: Options) -> Findings:
        """What there is to say of the row."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the object, the CSV or the tables."""
        found = self.findings(by_name(self.model, options["row"]), options)
        file = options.get("csv")
        if isinstance(file, Path):
            write_file(file, found.csv().encode())
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False))
        elif file is True:
            self.deliver(found.csv(), None)
        else:
            for line in shell_lines(found.tables(), found.most):
                self.stdout.write(line)


class ExcessCommand(FindingsCommand):
    help = "Experiments that take longer than a mapping allows, grouped by the µops that limit them."

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        parser.add_argument(
            "--dataset", metavar="SET", required=True, help="the measurements to hold it against"
        )

    def findings(self, row: PortMapping, options: Options) -> Findings:
        dataset = by_name(ExperimentSet, options["dataset"])
        if row.isa_id != dataset.isa_id:
            raise CommandError(
                f"{dataset.name!r} holds measurements of {dataset.isa.name}, not {row.isa.name}"
            )
        found, ports = excess_in(row, dataset), load_mapping(row).ports
        title = f"{found.exceeding:,} of {found.experiments:,} experiments take longer than {row.name} says"
        return Findings(
            lambda: {"mapping": row.name, "dataset": dataset.name, **excess_json(found, ports, LARGEST)},
            lambda: [replace(excess_table(found, ports, "measured", row.name), title=title)],
        )


class CongruenceCommand(FindingsCommand):
    help = (
        f"Schemes that a mapping takes for alike after fewer than {FEW_COMPARED} comparisons, and the pairs "
        "to measure then (manage.py measure --experiment)."
    )

    def findings(self, row: PortMapping, options: Options) -> Findings:
        found = congruence_of(row)
        return Findings(lambda: congruence_json(found), lambda: [weak_members_table(found)])


class ConflictsCommand(FindingsCommand):
    help = "Who competes with whom, from schemes alone and in pairs; no port mapping is needed."
    model = ExperimentSet

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        parser.add_argument(
            "--schemes", metavar="FILTER", default="", help="only these, as they are searched"
        )
        parser.add_argument("--classes", action="store_true", help="with --json: rows of classes")
        formats.add_argument("--csv", action="store_true", help="print all pairs as CSV")

    def findings(self, row: ExperimentSet, options: Options) -> Findings:
        by = ConflictsBy.CLASSES if options["classes"] else ConflictsBy.SCHEMES
        found = conflicts_in(row, ConflictsRequest(q=options["schemes"]))
        table = classes_table(found)
        return Findings(
            lambda: conflicts_json(row, found, by),
            lambda: [replace(table, title=f"{row.name}: {table.title}")],
            lambda: csv_of(pairs_table(found.all_pairs()), head_of(**{"experiment set": row.name})),
        )


class DoubtsCommand(FindingsCommand):
    help = (
        "List what is ambiguous, excluded, badly predicted, or in conflict with another mapping; for one "
        "scheme also the experiments to measure again (manage.py measure --experiment) and one that decides."
    )

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
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
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write all of them to a file as well")

    def findings(self, row: PortMapping, options: Options) -> Findings:
        found = ask(row, _doubts_request(row, options))
        scheme = options["scheme"]
        full = scheme is not None
        if full:
            about = tuple(doubt for doubt in found.listed if doubt.scheme == scheme)
            found = replace(found, listed=about)
        decided = found.decisions(found.listed) if full else {}
        return Findings(
            lambda: {
                "mapping": row.name,
                "doubts": [_doubt_json(found, doubt, decided, full=full) for doubt in found.listed],
            },
            lambda: [_counted_table(found), *(_experiments(found, decided) if full else ())],
            lambda: found.csv,
            None if full else LISTED,
        )


def _doubts_request(row: PortMapping, options: Options) -> DoubtsRequest:
    against = options["against"]
    asked = {
        "other": against if against in (None, NONE) else by_name(PortMapping, against).pk,
        "evaluation": None if options["dataset"] is None else _evaluation(row, options["dataset"]).pk,
        "over": options["over"],
        "kind": options["kind"],
    }
    return read(DoubtsRequest, asked)


def _evaluation(row: PortMapping, dataset: str) -> Evaluation:
    experiment_set = by_name(ExperimentSet, dataset)
    evaluations = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES, experiment_set=experiment_set)
    if (evaluation := evaluations.first()) is None:
        both = f"{shell_option('--mapping', row.name)} {shell_option('--dataset', experiment_set.name)}"
        raise CommandError(
            f"{row.name!r} has not been evaluated on {experiment_set.name!r}: manage.py evaluate {both}"
        )
    return evaluation


def _doubt_json(found: DoubtsOf, doubt: Doubt, decided: Mapping[Doubt, DoubtDecision], *, full: bool) -> Json:
    ports = found.doubts.ports
    line: Json = {
        "kind": doubt.kind.value,
        "scheme": doubt.scheme,
        "why": doubt.words,
        "uops": None if doubt.here is None else described(doubt.here, ports),
        "others": [described(uops, ports) for uops in doubt.others],
    }
    if full:
        decision = decided.get(doubt)
        line["again"] = list(map(str, found.again(doubt)))
        line["decides"] = None if decision is None else str(decision.distinction.experiment)
    return line


def _counted_table(found: DoubtsOf) -> PublishedTable:
    """The doubts, titled with how many there are of each kind."""
    counts = found.listed_doubts.counts
    title = ", ".join(f"{LABELS[kind]}: {counts[kind]}" for kind in DoubtKind if counts[kind])
    return replace(
        doubts_table(found.listed_doubts), title=title or "nothing is doubtful, as far as is known"
    )


def _experiments(found: DoubtsOf, decided: Mapping[Doubt, DoubtDecision]) -> Iterator[PublishedTable]:
    """What to measure again for each doubt, and what would decide it."""
    for doubt in found.listed:
        rows = tuple((str(experiment),) for experiment in found.again(doubt))
        yield PublishedTable("again", f"measure again ({LABELS[doubt.kind]}):", (code("experiment"),), rows)
        if doubt in decided:
            decision = decided[doubt]
            experiment = decision.distinction.experiment
            yield PublishedTable("decides", f"would decide: {experiment}: {decision.in_words()}", (), ())
