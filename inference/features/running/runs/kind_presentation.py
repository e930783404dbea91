"""What pages and archives of runs ask of a kind of run: each feature registers it for its kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inference.core.protocols import Json

if TYPE_CHECKING:
    from django.http import HttpRequest

    from inference.features.running.runs.record import RunRecord
    from inference.models import Run


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
