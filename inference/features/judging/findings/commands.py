"""`manage.py doubts`, `conflicts`, `congruence` and `excess`: findings about schemes, as tables or JSON."""

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
from inference.features.judging.findings.doubts import MappingDoubts, doubts_table, requested_doubts
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

MAX_EXPERIMENTS = 3  # per group
MAX_DOUBTS = 100
Options = dict[str, Any]


@dataclass(frozen=True)
class Findings:
    """The output of a command: JSON, CSV, or tables with at most `most` rows each, None for all rows."""

    as_json: Callable[[], Json]
    tables: Callable[[], Sequence[PublishedTable]]
    csv: Callable[[], str] = str
    most: int | None = None


class FindingsCommand(DataCommand):
    """Prints findings about the schemes of a mapping or set."""

    model: type[PortMapping] | type[ExperimentSet] = PortMapping

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("row", metavar="MAPPING" if self.model is PortMapping else "SET")
        formats = parser.add_mutually_exclusive_group()
        formats.add_argument("--json", action="store_true", help="print one JSON object")
        self.add_options(parser, formats)

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        """Add the options that only this command has."""

    def findings(self, row: Any, options: Options) -> Findings:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        output = self.findings(by_name(self.model, options["row"]), options)
        file = options.get("csv")
        if isinstance(file, Path):
            write_file(file, output.csv().encode())
        if options["json"]:
            self.stdout.write(json.dumps(output.as_json(), ensure_ascii=False))
        elif file is True:
            self.write_output(output.csv(), None)
        else:
            for line in shell_lines(output.tables(), output.most):
                self.stdout.write(line)


class ExcessCommand(FindingsCommand):
    help = "Experiments that take longer than a mapping predicts, grouped by the µops that limit them."

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        parser.add_argument("--dataset", metavar="SET", required=True, help="experiment set to compare with")

    def findings(self, row: PortMapping, options: Options) -> Findings:
        dataset = by_name(ExperimentSet, options["dataset"])
        if row.isa_id != dataset.isa_id:
            raise CommandError(f"{dataset.name!r} is for {dataset.isa.name}, not {row.isa.name}")
        slow_groups, ports = excess_in(row, dataset), load_mapping(row).ports
        counts = f"{slow_groups.exceeding:,} of {slow_groups.experiments:,} experiments"
        table = excess_table(slow_groups, ports, "measured", row.name)
        return Findings(
            lambda: {
                "mapping": row.name,
                "dataset": dataset.name,
                **excess_json(slow_groups, ports, MAX_EXPERIMENTS),
            },
            lambda: [replace(table, title=f"{counts} take longer than {row.name} predicts")],
        )


class CongruenceCommand(FindingsCommand):
    help = (
        f"Schemes in a mapping's classes after fewer than {FEW_COMPARED} comparisons, and the pairs "
        "to measure (manage.py measure --experiment)."
    )

    def findings(self, row: PortMapping, options: Options) -> Findings:
        classes = congruence_of(row)
        return Findings(lambda: congruence_json(classes), lambda: [weak_members_table(classes)])


class ConflictsCommand(FindingsCommand):
    help = "Schemes that compete, from measurements of schemes alone and in pairs; needs no port mapping."
    model = ExperimentSet

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        parser.add_argument("--schemes", metavar="FILTER", default="", help="a search for schemes")
        parser.add_argument("--classes", action="store_true", help="with --json: a row per class")
        formats.add_argument("--csv", action="store_true", help="print all pairs as CSV")

    def findings(self, row: ExperimentSet, options: Options) -> Findings:
        by = ConflictsBy.CLASSES if options["classes"] else ConflictsBy.SCHEMES
        conflicts = conflicts_in(row, ConflictsRequest(q=options["schemes"]))
        table = classes_table(conflicts)
        return Findings(
            lambda: conflicts_json(row, conflicts, by),
            lambda: [replace(table, title=f"{row.name}: {table.title}")],
            lambda: csv_of(pairs_table(conflicts.all_pairs()), head_of(**{"experiment set": row.name})),
        )


class DoubtsCommand(FindingsCommand):
    help = (
        "List what is ambiguous, excluded, badly predicted, or in conflict with another mapping; for one "
        "scheme also the experiments to repeat (manage.py measure --experiment) and one that decides."
    )

    def add_options(self, parser: ArgumentParser, formats: _MutuallyExclusiveGroup) -> None:
        parser.add_argument(
            "--against",
            metavar="OTHER",
            help="mapping to compare with, or none (default: another one of the same machine)",
        )
        parser.add_argument(
            "--dataset",
            metavar="NAME",
            help="set whose evaluation says what is badly predicted (default: the first)",
        )
        parser.add_argument(
            "--over",
            type=float,
            default=DoubtsRequest().over,
            metavar="PERCENT",
            help="mean error above which a scheme is badly predicted (default: %(default)g)",
        )
        parser.add_argument("--kind", choices=[kind.value for kind in DoubtKind], help="only these")
        parser.add_argument("--scheme", metavar="TEXT", help="print the doubts about this scheme in full")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write all doubts to a file as well")

    def findings(self, row: PortMapping, options: Options) -> Findings:
        mapping_doubts = requested_doubts(row, _doubts_request(row, options))
        scheme = options["scheme"]
        is_single_scheme = scheme is not None
        if is_single_scheme:
            scheme_doubts = tuple(doubt for doubt in mapping_doubts.listed if doubt.scheme == scheme)
            mapping_doubts = replace(mapping_doubts, listed=scheme_doubts)
        decisions = mapping_doubts.decisions(mapping_doubts.listed) if is_single_scheme else {}
        return Findings(
            lambda: {
                "mapping": row.name,
                "doubts": [
                    _doubt_json(mapping_doubts, doubt, decisions, in_full=is_single_scheme)
                    for doubt in mapping_doubts.listed
                ],
            },
            lambda: [
                _table_with_counts(mapping_doubts),
                *(_experiment_tables(mapping_doubts, decisions) if is_single_scheme else ()),
            ],
            lambda: mapping_doubts.csv,
            None if is_single_scheme else MAX_DOUBTS,
        )


def _doubts_request(row: PortMapping, options: Options) -> DoubtsRequest:
    against = options["against"]
    values = {
        "other": against if against in (None, NONE) else by_name(PortMapping, against).pk,
        "evaluation": None if options["dataset"] is None else _evaluation(row, options["dataset"]).pk,
        "over": options["over"],
        "kind": options["kind"],
    }
    return read(DoubtsRequest, values)


def _evaluation(row: PortMapping, dataset: str) -> Evaluation:
    experiment_set = by_name(ExperimentSet, dataset)
    evaluations = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES, experiment_set=experiment_set)
    if (evaluation := evaluations.first()) is None:
        both = f"{shell_option('--mapping', row.name)} {shell_option('--dataset', experiment_set.name)}"
        raise CommandError(
            f"{row.name!r} has not been evaluated on {experiment_set.name!r}: manage.py evaluate {both}"
        )
    return evaluation


def _doubt_json(
    mapping_doubts: MappingDoubts, doubt: Doubt, decisions: Mapping[Doubt, DoubtDecision], *, in_full: bool
) -> Json:
    ports = mapping_doubts.doubts.ports
    line: Json = {
        "kind": doubt.kind.value,
        "scheme": doubt.scheme,
        "why": doubt.words,
        "uops": None if doubt.uops is None else described(doubt.uops, ports),
        "others": [described(uops, ports) for uops in doubt.alternatives],
    }
    if in_full:
        decision = decisions.get(doubt)
        line["again"] = list(map(str, mapping_doubts.again(doubt)))
        line["decides"] = None if decision is None else str(decision.distinction.experiment)
    return line


def _table_with_counts(mapping_doubts: MappingDoubts) -> PublishedTable:
    """The table of doubts, titled with the number of each kind."""
    counts = mapping_doubts.listed_doubts.counts
    title = ", ".join(f"{LABELS[kind]}: {counts[kind]}" for kind in DoubtKind if counts[kind])
    return replace(doubts_table(mapping_doubts.listed_doubts), title=title or "no doubts")


def _experiment_tables(
    mapping_doubts: MappingDoubts, decisions: Mapping[Doubt, DoubtDecision]
) -> Iterator[PublishedTable]:
    """Per doubt, a table of the experiments to repeat, and one with an experiment that decides."""
    for doubt in mapping_doubts.listed:
        rows = tuple((str(experiment),) for experiment in mapping_doubts.again(doubt))
        yield PublishedTable("again", f"measure again ({LABELS[doubt.kind]}):", (code("experiment"),), rows)
        if doubt in decisions:
            decision = decisions[doubt]
            experiment = decision.distinction.experiment
            yield PublishedTable("decides", f"decided by {experiment}: {decision.in_words()}", (), ())
