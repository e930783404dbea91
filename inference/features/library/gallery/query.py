"""Recorded cores, read from the package's files without the database."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

from inference.core.core_model import CoreModel
from inference.core.judging.accuracy import (
    AccuracyFigures,
    AccuracyJudgement,
    Grade,
    RepeatSpread,
    ToolErrors,
    accuracy_judgement,
)
from inference.core.judging.agreement import Agreement
from inference.core.metrics import Scores
from inference.core.protocols import Json
from inference.formats.core_model_json import (
    CoreModelDocument,
    core_model_json,
    core_model_text,
    read_core_model,
)
from inference.isa.targets import DEFAULT
from inference.models import ISA, StoredCoreModel
from inference.storage.core_models import document_row

CORES = Path(__file__).parent / "cores"
_GRADES = tuple(Grade)
_TABLES = ("figures", "sources")
"""Fields of a recorded core that are tables of its file."""


@dataclass(frozen=True)
class PartSource:
    """Where a part of a core model comes from.

    Args:
        part: "ports and slots", "latencies", "front end" or "scheduler".
        text: Who measured what, and how the part was inferred from it.
        url: URL of published measurements; "" for pmweb's own.
    """

    part: str
    text: str
    url: str = ""


@dataclass(frozen=True)
class RecordedFigure:
    """How well a core predicts measurements that it was not made of.

    Args:
        on: The measurements, as in "blocks of SQLite in straight code".
        items: Their number.
        predicted: The number of those with a prediction.
        mape: Mean absolute error of these, in per cent.
        median: Median absolute error, in per cent; None where it was not computed.
        kendall: Kendall's τ; None where it was not computed.
        repeated: Mean absolute error of measuring the items once more, in per cent; None where they were
            measured once.
        compared: {another predictor: its MAPE on what it predicts of the same items, in per cent}.
    """

    on: str
    items: int
    predicted: int
    mape: float
    median: float | None = None
    kendall: float | None = None
    repeated: float | None = None
    compared: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """A phrase such as "mean error 3.4 % on 1,172 of 1,200 blocks of SQLite (llvm-mca 14: 40.6 %)"."""
        number = (
            f"{self.items:,}" if self.predicted == self.items else f"{self.predicted:,} of {self.items:,}"
        )
        tools = "; ".join(f"{name}: {mape:.1f} %" for name, mape in self.compared.items())
        return f"mean error {self.mape:.1f} % on {number} {self.on}{f' ({tools})' if tools else ''}"

    @property
    def judgement(self) -> AccuracyJudgement:
        scores = Scores(self.predicted, self.mape, None, self.kendall)
        tools = [ToolErrors(name, self.predicted, mape, self.mape) for name, mape in self.compared.items()]
        figures = AccuracyFigures(
            Agreement(scores, self.median),
            self.predicted / self.items if self.items else 0.0,
            None if self.repeated is None else RepeatSpread(self.items, 0, self.repeated, None),
            tool=min(tools, key=lambda tool: tool.mape, default=None),
        )
        return accuracy_judgement(figures, self.on)


@dataclass(frozen=True)
class RecordedCore:
    """A core of the gallery.

    Args:
        slug: The name of its files.
        name: The core model's name.
        core: The core, such as "Zen 4".
        processor: The computer on which it was measured.
        recorded: The day of the measurements; of published ones, that of the publication.
        measured: What was measured, and by what.
        figures: How well it predicts; at least one.
        sources: Sources of each part that it has.
        lacks: What is missing; "" for nothing that is known to be.
        described: Number of schemes with µops.
        with_latencies: Number of schemes with latencies.
        isa: The instruction set.
    """

    slug: str
    name: str
    core: str
    processor: str
    recorded: date
    measured: str
    figures: tuple[RecordedFigure, ...]
    sources: tuple[PartSource, ...] = ()
    lacks: str = ""
    described: int = 0
    with_latencies: int = 0
    isa: str = DEFAULT

    @classmethod
    def read(cls, file: Path) -> Self:
        """The facts in a core's TOML file."""
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
        figures = tuple(RecordedFigure(**figure) for figure in facts.pop("figures"))
        sources = tuple(PartSource(**source) for source in facts.pop("sources", ()))
        return cls(slug=file.stem, figures=figures, sources=sources, **facts)

    @property
    def document(self) -> CoreModelDocument:
        """Read anew each time: `row` is what stays in memory."""
        return read_core_model(gzip.decompress((CORES / f"{self.slug}.json.gz").read_bytes()))

    @cached_property
    def row(self) -> StoredCoreModel:
        """The unsaved row: it has no id and no machine. Reads the document on first use."""
        return document_row(self.document, ISA(name=self.isa), self.name)

    @property
    def is_published(self) -> bool:
        """Whether others published the measurements of its ports."""
        return any(source.url for source in self.sources)

    @property
    def label(self) -> str:
        return f"{self.core}, {'from published measurements' if self.is_published else 'as recorded'}"

    @property
    def accuracy(self) -> str:
        """How well it predicts, as a phrase."""
        return "; ".join(figure.text for figure in self.figures)

    @property
    def judgement(self) -> AccuracyJudgement:
        """The worst of its figures' judgements, which is the first of equal ones."""
        return max((figure.judgement for figure in self.figures), key=lambda it: _GRADES.index(it.grade))

    @property
    def grade(self) -> Grade:
        return self.judgement.grade


@cache
def recorded_cores() -> tuple[RecordedCore, ...]:
    """All recorded cores, the newest recording first; their documents are not read."""
    cores = [RecordedCore.read(file) for file in sorted(CORES.glob("*.toml"))]
    return tuple(sorted(cores, key=lambda core: core.recorded, reverse=True))


def recorded_core(name: str) -> RecordedCore | None:
    """The recorded core with this name of a core model."""
    return next((core for core in recorded_cores() if core.name == name), None)


def slug_of(core: str) -> str:
    """The name of a core's files, "" for a name without letters and digits.

    >>> slug_of("Zen 4")
    'zen-4'
    """
    return re.sub(r"[^a-z0-9]+", "-", core.lower()).strip("-")


def lacks_of(model: CoreModel) -> Iterator[str]:
    """What a core model is known to lack, as noun phrases."""
    usage: Mapping[str, object] = {} if model.mapping is None else model.mapping.usage
    without_ports = len(model.latencies.keys() - usage.keys())
    if not usage:
        yield "ports and slots"
    elif without_ports:
        yield f"ports of {without_ports:,} schemes whose latencies it has"
    if not model.latencies:
        yield "latencies"
    elif without_latencies := len(usage.keys() - model.latencies.keys() - model.portless):
        yield f"latencies of {without_latencies:,} schemes whose ports it has"
    if model.front_end is None:
        yield "front end"
    if model.scheduler is None:
        yield "scheduler"


def store_recording(
    core: RecordedCore, model: CoreModel, port_names: Mapping[str, str] | None = None
) -> list[Path]:
    """Write both files of a core, replacing earlier ones; returns their paths.

    Args:
        core: Its `lacks` come before those that the model shows, without parts that it has a source of;
            its numbers of schemes are the model's.
        model: Its sources are replaced by those of `core`.
        port_names: {port: the vendor's name}.
    """
    document = core_model_json(
        replace(model, sources={source.part: source.text for source in core.sources}),
        name=core.name,
        isa=core.isa,
        port_names=port_names,
    )
    sourced = {source.part for source in core.sources}
    lacks = (core.lacks, *(part for part in lacks_of(model) if part not in sourced))
    stored = replace(
        core,
        lacks="; ".join(filter(None, lacks)),
        described=0 if model.mapping is None else len(model.mapping.usage),
        with_latencies=len(model.latencies),
    )
    facts = {name: value for name, value in vars(stored).items() if name not in ("slug", *_TABLES)}
    lines = _toml_lines(facts)
    for name in _TABLES:
        for row in getattr(core, name):
            lines += ["", f"[[{name}]]", *_toml_lines(vars(row))]
    model_file, facts_file = CORES / f"{core.slug}.json.gz", CORES / f"{core.slug}.toml"
    # Without a time in its header the file is the same for the same core.
    model_file.write_bytes(gzip.compress(core_model_text(document).encode(), mtime=0))
    facts_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    recorded_cores.cache_clear()
    return [model_file, facts_file]


def _toml_lines(facts: Json) -> list[str]:
    """A line per value; empty texts and tables, and None, are left out."""
    return [f"{key} = {_toml(value)}" for key, value in facts.items() if value not in ("", None, {})]


def _toml(value: Any) -> str:
    match value:
        case date():
            return value.isoformat()
        case float():
            return f"{value:.4g}" if "e" not in f"{value:.4g}" else repr(value)
        case int():
            return str(value)
        case Mapping():
            return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    # JSON's escapes are TOML's, except for DEL, which no text of ours has.
    return json.dumps(" ".join(str(value).split()), ensure_ascii=False)
