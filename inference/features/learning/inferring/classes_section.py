"""Congruence classes of a search, listed by page and searchable by any of their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from inference.core.mapping import PortMapping as Mapping
from inference.core.mapping import Uops
from inference.core.pmevo.congruence import Likeness, Likenesses
from inference.core.protocols import Json
from inference.isa.search import SearchError
from inference.models import ISA
from inference.models.scheme_search import matching_texts
from inference.storage.rows import ids_of_schemes
from inference.web.paging import PAGE_SIZE, Order, page_in_memory
from inference.web.validation import number_parameter

Members = Sequence[str]
FEW_COMPARED = 5
"""Compared experiments below which the page warns that there were few."""
COLUMNS: dict[str, Callable[[Members], Any]] = {
    "size": len,
    "text": lambda members: members[0],
}


@dataclass(frozen=True)
class Member:
    """A scheme of a class. `pk` is its row id, None if the instruction set has lost it.

    Comparison with the representative, if `has_comparison`: of `compared` experiments of both, `different`
    differ by the congruence ε or more; `largest` is the largest difference in per cent.
    """

    text: str
    pk: int | None
    compared: int = 0
    different: int = 0
    largest: float = 0.0
    has_comparison: bool = False

    @property
    def few(self) -> bool:
        """Whether so few experiments were compared that others might distinguish the two."""
        return self.has_comparison and self.compared < FEW_COMPARED


@dataclass(frozen=True)
class ClassLine:
    """A class. `uops` are the mapping's for all members; None without a mapping or if they differ."""

    representative: Member
    other_members: tuple[Member, ...]
    uops: Uops | None

    @property
    def size(self) -> int:
        return 1 + len(self.other_members)

    @property
    def few(self) -> int:
        return sum(other.few for other in self.other_members)


def classes_of_report(report: Json) -> list[Members]:
    """The classes of a mapping's report, each with its representative first."""
    return [members for members in report.get("congruence_classes", ()) if members]


def classes_context(
    request: HttpRequest,
    classes: Sequence[Members],
    isa: ISA | None,
    value: Mapping | None,
    size: int = PAGE_SIZE,
    likeness: Likenesses | None = None,
) -> dict[str, Any]:
    """Context with a page of the classes that match a search, by default the largest first."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, "-size")
    context: dict[str, Any] = {"q": q, "sort": str(order), "class_count": len(classes)}
    try:
        matches = _matching_classes(classes, q, isa)
    except SearchError as error:
        return {**context, "classes_error": str(error)}
    matches.sort(key=COLUMNS["text"])  # breaks ties: sorting is stable
    matches.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(matches, number_parameter(request, "page", 0) or 0, size)
    return {**context, "page": page, "class_lines": _lines(page.rows, isa, value, likeness or {})}


def _matching_classes(classes: Sequence[Members], q: str, isa: ISA | None) -> list[Members]:
    if not q or isa is None:
        return list(classes)
    texts = matching_texts(isa.pk, q)
    return [members for members in classes if not texts.isdisjoint(members)]


def _lines(
    classes: Sequence[Members], isa: ISA | None, value: Mapping | None, likeness: Likenesses
) -> list[ClassLine]:
    texts = [scheme for members in classes for scheme in members]
    ids = {} if isa is None else ids_of_schemes(isa.pk, texts)
    usage = {} if value is None else value.usage
    lines = []
    for members in classes:
        listed = [_member(scheme, ids.get(scheme), likeness.get(scheme)) for scheme in members]
        used = {usage.get(scheme) for scheme in members}
        lines.append(ClassLine(listed[0], tuple(listed[1:]), used.pop() if len(used) == 1 else None))
    return lines


def _member(scheme: str, pk: int | None, like: Likeness | None) -> Member:
    if like is None:
        return Member(scheme, pk)
    return Member(scheme, pk, like.compared, like.different, 100 * like.largest, has_comparison=True)
