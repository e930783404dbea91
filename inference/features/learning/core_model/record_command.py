"""`manage.py record-core MODEL`: adds a profiled core to the gallery."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError

from inference.core.protocols import Json
from inference.features.library.gallery.query import (
    PartSource,
    RecordedCore,
    RecordedFigure,
    slug_of,
    store_recording,
)
from inference.measuring.blocks import LOOP
from inference.models import ComparedColumn, StoredCoreModel
from inference.predictors import core_model, machine
from inference.storage.core_models import core_model_of
from inference.storage.judging import KEY, columns_of_core_model
from inference.storage.names import by_name, processor_name, selection_name
from inference.web.data_command import DataCommand

_SEARCHES = {"Ports and slots": "PMEvo", "all together": "explained µops and PMEvo, joined"}


class Command(DataCommand):
    help = (
        "Write a core model into the gallery of this checkout, with where its numbers come from and how "
        "accurate it is. Profile the core on a quiet machine and check its accuracy first; names of machines "
        "and notes are not written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="MODEL", help="a core model of a measured computer")
        parser.add_argument(
            "--core", metavar="NAME", default="", help="the core, e.g. 'Zen 5' (default: its own)"
        )
        parser.add_argument("--lacks", default="", help="what is missing beyond what the model itself shows")

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(StoredCoreModel, options["name"])
        core = options["core"] or (row.name if row.machine is None else processor_name(row.machine))
        slug = slug_of(core)
        if not slug:
            raise CommandError(f"--core {core!r} has no letter or digit to name files by")
        figures = tuple(_figures(row))
        if not figures:
            raise CommandError(
                f"the accuracy of {row.name!r} was not measured: check it first (manage.py accuracy)"
            )
        model = core_model_of(row)
        recorded = RecordedCore(
            slug=slug,
            name=f"Recorded {core}",
            core=core,
            processor=("" if row.machine is None else row.machine.cpu) or "not recorded",
            recorded=row.created.date(),
            measured=_measured_text(row),
            figures=figures,
            sources=tuple(_sources(row)),
            lacks=options["lacks"],
            isa=row.isa.name,
        )
        for path in store_recording(recorded, model, row.port_names):
            self.stdout.write(f"{path.name}: {path.stat().st_size:,} bytes")
        self.stdout.write(f"{recorded.name}, {recorded.judgement.text}")


def _measured_text(row: StoredCoreModel) -> str:
    """What its profile measured, as in "pmweb: profile of the default set"."""
    config = {} if row.run is None else row.run.config
    selection = selection_name(config.get("schemes", ""), config.get("scheme_filter", ""))
    return f"pmweb: profile of the {selection}" if selection else "pmweb: parts that were measured separately"


def _sources(row: StoredCoreModel) -> Iterator[PartSource]:
    if row.mapping is not None:
        selected = (row.selection or {}).get("selected", "")
        search = _SEARCHES.get(selected, selected.lower() or row.mapping.source)
        yield PartSource("ports and slots", f"measured by pmweb; inferred by {search}")
    if row.latencies is not None:
        yield PartSource("latencies", "chains measured by pmweb")
    if row.front_end is not None:
        yield PartSource("front end", "loops and straight code measured by pmweb")
    if row.scheduler is not None and row.scheduler["scheduler"] is None:
        yield PartSource("scheduler", "none explains mixes measured by pmweb better than ports alone")
    elif row.scheduler is not None:
        yield PartSource("scheduler", "inferred from mixes and blocks measured by pmweb")


def _figures(row: StoredCoreModel) -> Iterator[RecordedFigure]:
    """Of the newest accuracy check of each mode on each set, then of mixes that its ports were not inferred
    from.
    """
    columns = columns_of_core_model(row).select_related("comparison", "predictor")
    newest = {}
    for column in columns.defer("answers", "pictures").order_by("comparison_id"):
        in_loop = column.predictor is not None and column.predictor.options.get("mode") == LOOP
        newest[column.comparison.source.partition(":")[0], in_loop] = column
    for (source, in_loop), column in newest.items():
        yield _figure_of_blocks(f"blocks of {source} {'in loops' if in_loop else 'in straight code'}", column)
    checks = {} if row.mapping is None else row.mapping.report.get(KEY, {})
    if checks.get("error") is not None:
        n = checks["n"]
        yield RecordedFigure("held-out mixes of independent instructions", n, n, checks["error"])


def _figure_of_blocks(on: str, column: ComparedColumn) -> RecordedFigure:
    columns = column.comparison.columns.filter(error="", predictor__isnull=False)
    answers = [
        (answer.predictor.kind, answer.name, _scores(answer))
        for answer in columns.select_related("predictor").defer("answers", "pictures")
        if answer.predictor is not None
    ]
    scores = _scores(column)
    repeat = next((repeated for kind, _, repeated in answers if kind == machine.KIND), None)
    return RecordedFigure(
        on,
        column.comparison.n if repeat is None else repeat["n"],
        scores["n"],
        scores["mape"],
        column.summary["agreement"]["median"],
        scores["kendall"],
        None if repeat is None else repeat["mape"],
        {
            name: tool["mape"]
            for kind, name, tool in answers
            if kind not in (machine.KIND, core_model.KIND) and tool["n"] >= scores["n"]
        },
    )


def _scores(column: ComparedColumn) -> Json:
    scores: Json = column.summary["scores"]["cycles"]
    return scores
