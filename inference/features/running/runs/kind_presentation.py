"""How pages, archives and the shell present a run: its description in words, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inference.core.protocols import Json

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.running.runs.record import RunRecord
    from inference.models import Run


from collections.abc import Iterable
from itertools import chain

from django.db.models import Model
from django.urls import reverse

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


@dataclass(frozen=True)
class Link:
    """A row that the run refers to."""

    text: str
    url: str


@dataclass(frozen=True)
class DescriptionItem:
    """One line: a label with a text or links.

    `changed` marks a setting that is not the default, `usual` one that is, which few want to see.
    """

    label: str
    text: str = ""
    links: tuple[Link, ...] = ()
    changed: bool = False
    usual: bool = False


@dataclass(frozen=True)
class RunOutcome:
    """A run's result with the address of its page; `note` sums it up where its name does not."""

    name: str
    url: str
    note: str = ""


@dataclass(frozen=True)
class KindPresentation:
    """What the pages of runs ask of a kind.

    Args:
        words: The description of a run, item by item; None: the fields as they stand.
        outcomes: {run id: outcome} of runs of the kind, in a bounded number of queries; None: what their
            results name.
        page: More for the template of a run's page.
        live: More for its script.
        archived: The complete description of a run from elsewhere, or an `ExchangeError`; None: archives of
            such runs are not read.
    """

    words: Callable[[Run], Iterator[DescriptionItem]] | None = None
    outcomes: Callable[[Sequence[Run]], dict[int, RunOutcome]] | None = None
    page: Callable[[HttpRequest, Run, RunRecord], dict[str, Any]] = lambda _request, _run, _record: {}
    live: Callable[[Run, RunRecord], Json] = lambda _run, _record: {}
    archived: Callable[[Json], Json] | None = None


_LOADERS: dict[str, Callable[[], KindPresentation]] = {}


def register(presentations: Mapping[str, Callable[[], KindPresentation]]) -> None:
    """Add presentations by the names of kinds; each function imports one, which few processes need."""
    _LOADERS.update(presentations)


def presentation_of(kind: str) -> KindPresentation:
    """What a kind has registered, or the defaults of a kind without any."""
    return _LOADERS.get(kind, KindPresentation)()


def archived_kinds() -> list[str]:
    """The kinds of which archives are read."""
    return [kind for kind in _LOADERS if presentation_of(kind).archived is not None]


def asked_of(run: Run) -> list[DescriptionItem]:
    """Configuration of a run, whatever its kind."""
    words = presentation_of(run.kind).words or _plain
    return [item for item in words(run) if item.text or item.links]


def schemes_in_words(config: Json) -> str:
    """The schemes that a run measures, as its description names them."""
    sample = config.get("sample")
    return f"{sample:,} of {_selection(config)}" if sample else _selection(config)


def _selection(config: Json) -> str:
    chosen = config["schemes"]
    if isinstance(chosen, list):
        found = f" found by {config['scheme_filter']}" if config["scheme_filter"] else ""
        return f"{len(chosen):,}{found}"
    return {
        "all": "all schemes in the data",
        "default": "the default set",
        "starter": "the starter set",
        "probes": "probes of each kind of execution unit",
        **GROUP_SELECTIONS,
    }[chosen]


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
            yield DescriptionItem("Schemes", schemes_in_words(run.config))
        elif key == "scheme_filter":
            continue  # is told with the schemes
        else:
            yield DescriptionItem(label, in_words(value))


def in_words(value: Any) -> str:
    """A value of a description."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def links(model: type[Model], url_name: str, ids: list[int]) -> tuple[Link, ...]:
    """The pages of rows with these ids, in this order."""
    names = dict(model._default_manager.filter(pk__in=ids).values_list("pk", "name"))
    return tuple(
        Link(names[pk], reverse(url_name, args=[pk])) if pk in names else Link("deleted", "#") for pk in ids
    )


def outcomes_of(runs: Iterable[Run]) -> dict[int, RunOutcome]:
    """{run id: outcome} of those runs that have one (a bounded number of queries, however many runs)."""
    groups: dict[Callable[[Sequence[Run]], dict[int, RunOutcome]], list[Run]] = {}
    for run in runs:
        groups.setdefault(presentation_of(run.kind).outcomes or _own, []).append(run)
    return dict(chain.from_iterable(outcomes(group).items() for outcomes, group in groups.items()))


_MADE: Mapping[str, tuple[type[Model], str]] = {
    "imported_run": (Run, "run"),
    "mapping": (PortMapping, "mapping"),
    "resource_mapping": (ResourceMapping, "resource-mapping"),
    "latency_set": (LatencySet, "latency-set"),
    "experiment_set": (ExperimentSet, "set"),
    "front_end": (MeasuredFrontEnd, "front-end"),
    "core_model": (StoredCoreModel, "core-model"),
}
"""What results name by ids, what counts most first: the model, and the name of its page's address."""


def _own(runs: Sequence[Run]) -> dict[int, RunOutcome]:
    """Of kinds whose results name rows of this app (a query for each kind of row at most)."""
    names = {key: _names(model, {run.result.get(key) for run in runs}) for key, (model, _) in _MADE.items()}
    outcomes = {}
    for run in runs:
        made = run.result
        for key, (_, page) in _MADE.items():
            if (pk := made.get(key)) in names[key]:
                url = reverse(page, args=[pk]) + _place(run)
                outcomes[run.pk] = RunOutcome(names[key][pk], url, _note(made))
                break
    return outcomes


def _note(made: Json) -> str:
    """How many schemes an explainable inference could explain, or follow the model."""
    if "characterised" in made:
        return f"{made['characterised']:,} of {made.get('asked', 0):,} schemes characterised"
    if "compared" in made:
        return f"{made.get('within', 0):,} of {made['compared']:,} schemes within 10 % of the model"
    return ""


def _place(run: Run) -> str:
    """Where on a mapping's page, or below it, the result is."""
    if run.kind != "evaluate":
        return str(run.result.get("place", ""))
    return f"?tab=accuracy&set={run.config['experiment_set']}&unit={run.config['unit']}"


def _names(model: type[Model], ids: set[int | None]) -> dict[int, str]:
    wanted = ids - {None}
    return dict(model._default_manager.filter(pk__in=wanted).values_list("pk", "name")) if wanted else {}
