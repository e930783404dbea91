"""Where runs came from, as their descriptions say under `about`: the pages that started them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from inference.models import Run
from inference.runs.described_rows import is_id


@dataclass(frozen=True)
class RunOrigin:
    text: str
    url: str


OriginFinder = Callable[[Sequence[Run]], dict[int, RunOrigin]]
"""{number of a run: its origin} of those runs that it knows of."""

_FINDERS: list[OriginFinder] = []


def register(finders: Iterable[OriginFinder]) -> None:
    _FINDERS.extend(finder for finder in finders if finder not in _FINDERS)


def origins_of(runs: Sequence[Run]) -> dict[int, RunOrigin]:
    """{number of a run: its origin} of all that have one."""
    return dict(chain.from_iterable(find(runs).items() for find in _FINDERS))


def number_about(run: Run, name: str) -> int | None:
    """A number of what the run says that it is about, whoever wrote that."""
    number = run.config.get("about", {}).get(name)
    return number if is_id(number) else None
