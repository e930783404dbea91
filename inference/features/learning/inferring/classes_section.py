"""The congruence classes of a search: schemes that behave alike, found by any of their members."""

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
from inference.models.scheme_search import texts_found
from inference.storage.rows import ids_of_schemes
from inference.web.paging import PAGE_SIZE, Order, page_in_memory
from inference.web.validation import whole_number

Members = Sequence[str]
FEW_COMPARED = 5
"""Experiments of a scheme and its representative below which it is said how few were compared."""
COLUMNS: dict[str, Callable[[Members], Any]] = {
    "size": len,
    "text": lambda members: members[0],
}


@dataclass(frozen=True)
class Member:
    """A scheme of a class with its row id, None for one that the instruction set has lost since.

    How it compares with the representative, where that was told: `compared` experiments of both, of which
    `different` differ by the congruence ε or more all the same, and the `largest` difference in per cent.
    """

    text: str
    pk: int | None
    compared: int = 0
    different: int = 0
    largest: float = 0.0
    told: bool = False

    @property
    def few(self) -> bool:
        """Whether so few experiments were compared that others could still tell the two apart."""
        return self.told and self.compared < FEW_COMPARED


@dataclass(frozen=True)
class ClassLine:
    """A class. `uops`: what the mapping gives to all of it; None without one, or where they differ."""

    representative: Member
    others: tuple[Member, ...]
    uops: Uops | None

    @property
    def size(self) -> int:
        """How many schemes behave alike."""
        return 1 + len(self.others)

    @property
    def few(self) -> int:
        """How many of the others hardly anything was compared for."""
        return sum(other.few for other in self.others)


def classes_told(told: Json) -> list[Members]:
    """The classes in a mapping's report, each with its representative first."""
    return [members for members in told.get("congruence_classes", ()) if members]


def classes_context(
    request: HttpRequest,
    classes: Sequence[Members],
    isa: ISA | None,
    value: Mapping | None,
    size: int = PAGE_SIZE,
    likeness: Likenesses | None = None,
) -> dict[str, Any]:
    """A page of the classes that a search finds, the largest first unless the address says otherwise."""
    q = request.GET.get("q", "").strip()
    order = Order.read(request.GET.get("sort", ""), {key: key for key in COLUMNS}, "-size")
    context: dict[str, Any] = {"q": q, "sort": str(order), "class_count": len(classes)}
    try:
        found = _found(classes, q, isa)
    except SearchError as error:
        return {**context, "classes_error": str(error)}
    found.sort(key=COLUMNS["text"])  # the order of equally large ones
    found.sort(key=COLUMNS[order.column], reverse=order.descending)
    page = page_in_memory(found, whole_number(request, "page", 0) or 0, size)
    return {**context, "page": page, "class_lines": _lines(page.rows, isa, value, likeness or {})}


def _found(classes: Sequence[Members], q: str, isa: ISA | None) -> list[Members]:
    if not q or isa is None:
        return list(classes)
    texts = texts_found(isa.pk, q)
    return [members for members in classes if not texts.isdisjoint(members)]


def _lines(
    shown: Sequence[Members], isa: ISA | None, value: Mapping | None, likeness: Likenesses
) -> list[ClassLine]:
    texts = [scheme for members in shown for scheme in members]
    ids = {} if isa is None else ids_of_schemes(isa.pk, texts)
    usage = {} if value is None else value.usage
    lines = []
    for members in shown:
        named = [_member(scheme, ids.get(scheme), likeness.get(scheme)) for scheme in members]
        used = {usage.get(scheme) for scheme in members}
        lines.append(ClassLine(named[0], tuple(named[1:]), used.pop() if len(used) == 1 else None))
    return lines


def _member(scheme: str, pk: int | None, like: Likeness | None) -> Member:
    if like is None:
        return Member(scheme, pk)
    return Member(scheme, pk, like.compared, like.different, 100 * like.largest, told=True)
