"""How pages, archives and the shell present runs of each kind: configuration as text, and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse

from inference.core.protocols import Json
from inference.models import (
    ExperimentSet,
    LatencySet,
    Machine,
    MeasuredFrontEnd,
    PortMapping,
    ResourceMapping,
    Run,
    StoredCoreModel,
)
from inference.models.scheme_search import GROUP_SELECTIONS
from inference.runs.kinds import RunKind

if TYPE_CHECKING:
    from inference.features.running.runs.record import RunRecord


@dataclass(frozen=True)
class Link:
    """A link to the page of a row that a run refers to; "#" if the row is deleted."""

    text: str
    url: str


@dataclass(frozen=True)
class DescriptionItem:
    """A line of a run's configuration: a label with a text or links.

    `changed` marks a setting that differs from its default, `usual` one that does not.
    """

    label: str
    text: str = ""
    links: tuple[Link, ...] = ()
    changed: bool = False
    usual: bool = False


@dataclass(frozen=True)
class RunOutcome:
    """A run's result with the address of its page. `note` summarises it if its name does not."""

    name: str
    url: str
    note: str = ""


@dataclass(frozen=True)
class KindPresentation:
    """The parts of runs' pages that depend on the kind.

    Args:
        words: Yields the configuration of a run as text; None: the fields of the configuration.
        outcomes: {run id: outcome} of runs of the kind, in a bounded number of queries; None: the rows that
            results refer to.
        page: Additional context for the template of a run's page.
        live: Additional data for the page's script.
        archived: Completes the configuration of an imported run, or raises `ExchangeError`; None: archives of
            the kind are not imported.
    """

    words: Callable[[Run], Iterator[DescriptionItem]] | None = None
    outcomes: Callable[[Sequence[Run]], dict[int, RunOutcome]] | None = None
    page: Callable[[HttpRequest, Run, RunRecord], dict[str, Any]] = lambda _request, _run, _record: {}
    live: Callable[[Run, RunRecord], Json] = lambda _run, _record: {}
    archived: Callable[[Json], Json] | None = None


_LOADERS: dict[str, Callable[[], Iterable[ModuleType]]] = {}


def register(kinds: Iterable[RunKind], load: Callable[[], Iterable[ModuleType]]) -> None:
    """Register a function that imports the modules of some kinds' pages.

    One of them has the presentation of a kind in `PRESENTATIONS`, unless that has the defaults.
    """
    _LOADERS.update((kind.name, load) for kind in kinds)


@cache
def presentation_of(kind: str) -> KindPresentation:
    """The presentation of a kind, or the defaults if none is declared."""
    for module in _LOADERS[kind]() if kind in _LOADERS else ():
        presentations: Mapping[str, KindPresentation] = getattr(module, "PRESENTATIONS", {})
        if kind in presentations:
            return presentations[kind]
    return KindPresentation()


def archived_kinds() -> list[str]:
    """The kinds whose archives can be imported."""
    return [kind for kind in _LOADERS if presentation_of(kind).archived is not None]


def config_lines(run: Run) -> list[DescriptionItem]:
    """The configuration of a run as lines; empty ones are omitted."""
    words = presentation_of(run.kind).words or _plain
    return [item for item in words(run) if item.text or item.links]


def schemes_text(config: Json) -> str:
    """The selection of schemes of a run's configuration, e.g. "50 of the default set"."""
    sample = config.get("sample")
    return f"{sample:,} of {_selection(config)}" if sample else _selection(config)


def _selection(config: Json) -> str:
    schemes = config["schemes"]
    if isinstance(schemes, list):
        filter_text = f" found by {config['scheme_filter']}" if config["scheme_filter"] else ""
        return f"{len(schemes):,}{filter_text}"
    return {
        "all": "all schemes in the data",
        "default": "the default set",
        "starter": "the starter set",
        "probes": "probes of each kind of execution unit",
        **GROUP_SELECTIONS,
    }[schemes]


def _plain(run: Run) -> Iterator[DescriptionItem]:
    for key, value in run.config.items():
        label = key.replace("_", " ").capitalize()
        if key == "mapping":
            yield DescriptionItem("Port mapping", links=links(PortMapping, "mapping", [value]))
        elif key == "resource_mapping":
            yield DescriptionItem(
                "Resource mapping", links=links(ResourceMapping, "resource-mapping", [value])
            )
        elif key == "experiment_set":
            yield DescriptionItem("Measurements", links=links(ExperimentSet, "set", [value]))
        elif key == "machine":
            yield DescriptionItem("Machine", links=links(Machine, "machine", [value]))
        elif key == "isa":
            yield DescriptionItem("Instruction set", value)
        elif key == "schemes":
            yield DescriptionItem("Schemes", schemes_text(run.config))
        elif key == "scheme_filter":
            continue  # part of the line of `schemes`
        else:
            yield DescriptionItem(label, format_value(value))


def format_value(value: Any) -> str:
    """A value of a configuration as text; "" for None."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def links(model: type[Model], url_name: str, ids: list[int]) -> tuple[Link, ...]:
    """Links to the rows with these ids, in this order."""
    names = dict(model._default_manager.filter(pk__in=ids).values_list("pk", "name"))
    return tuple(
        Link(names[pk], reverse(url_name, args=[pk])) if pk in names else Link("deleted", "#") for pk in ids
    )


def outcomes_of(runs: Iterable[Run]) -> dict[int, RunOutcome]:
    """{run id: outcome} of the runs that have one, in a bounded number of queries."""
    groups: dict[Callable[[Sequence[Run]], dict[int, RunOutcome]], list[Run]] = {}
    for run in runs:
        groups.setdefault(presentation_of(run.kind).outcomes or _default_outcomes, []).append(run)
    return dict(chain.from_iterable(outcomes(group).items() for outcomes, group in groups.items()))


_RESULT_ROWS: Mapping[str, tuple[type[Model], str]] = {
    "imported_run": (Run, "run"),
    "mapping": (PortMapping, "mapping"),
    "resource_mapping": (ResourceMapping, "resource-mapping"),
    "latency_set": (LatencySet, "latency-set"),
    "experiment_set": (ExperimentSet, "set"),
    "front_end": (MeasuredFrontEnd, "front-end"),
    "core_model": (StoredCoreModel, "core-model"),
}
"""{key of a result: (model, URL name of the row's page)}; the first key that a result has is its outcome."""


def _default_outcomes(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """Outcomes of kinds without a function of their own; at most one query per key of `_RESULT_ROWS`."""
    names = {
        key: _names(model, {run.result.get(key) for run in runs}) for key, (model, _) in _RESULT_ROWS.items()
    }
    outcomes = {}
    for run in runs:
        result = run.result
        for key, (_, page) in _RESULT_ROWS.items():
            if (pk := result.get(key)) in names[key]:
                url = reverse(page, args=[pk]) + _place(run)
                outcomes[run.pk] = RunOutcome(names[key][pk], url, _note(result))
                break
    return outcomes


def _note(result: Json) -> str:
    """How much of what was to be measured or found was: schemes, pairs of operands, or codes."""
    if "characterised" in result:
        return f"{result['characterised']:,} of {result.get('asked', 0):,} schemes characterised"
    if "isolated" in result:
        bounds = f"bounds of {result.get('bounds', 0):,}"
        return f"latencies of {result['isolated']:,} pairs of operands, {bounds}"
    if "codes" in result:
        return f"{result.get('settled', 0):,} of {result['codes']:,} codes settled"
    if "error_without" in result:
        off, without = (f"{100 * result[key]:.1f}\N{NO-BREAK SPACE}%" for key in ("error", "error_without"))
        return f"experiments not used for it {off} off, {without} without a scheduler"
    if "compared" in result:
        return f"{result.get('within', 0):,} of {result['compared']:,} schemes within 10 % of the model"
    return ""


def _place(run: Run) -> str:
    """The query or fragment of a mapping's page that shows the result."""
    if run.kind != "evaluate":
        return str(run.result.get("place", ""))
    return f"?tab=accuracy&set={run.config['experiment_set']}&unit={run.config['unit']}"


def _names(model: type[Model], ids: set[int | None]) -> dict[int, str]:
    stored_ids = ids - {None}
    return (
        dict(model._default_manager.filter(pk__in=stored_ids).values_list("pk", "name")) if stored_ids else {}
    )
