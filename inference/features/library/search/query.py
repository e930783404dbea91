"""Queries of the search box: schemes, mappings, sets, runs, machines, and rows of other apps.

Each kind of row has a finder and makes a group, in the order of `find`. Other apps register finders at start
(`inference.web.contributions`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Length

from inference.isa.blocks import DETECTED
from inference.isa.code.block import Block, BlockError
from inference.isa.search import SearchError
from inference.isa.targets import DEFAULT
from inference.isa.targets.recognition import isa_of_text
from inference.models import (
    ISA,
    BasicBlockSet,
    ExperimentSet,
    InstructionScheme,
    Machine,
    PortMapping,
    ResourceMapping,
    Run,
)
from inference.models.scheme_search import FIT, annotate_fit, searched_schemes
from inference.web.code_reading import read_blocks
from inference.web.contributions import Finder, Hit, SearchHits, contributed
from inference.web.paging import having_words

MAX_TEXT = 4000
"""Maximum characters of a searched text; pasted assembly is the longest."""

MAX_NAME = 200
"""Maximum characters of a text that can match a name or note."""

MAX_BLOCKS = 20
_HEX_PREFIX = re.compile(r"^0x(?=(?:[0-9a-f]{2})+$)", re.IGNORECASE)


@dataclass(frozen=True)
class PastedCode:
    """A text parsed as basic blocks, or why that failed.

    `code` has one instruction per line; `certain`: it has several lines, so it can only be code. A single
    line of AArch64 has a `complaint`, too.
    """

    code: str
    blocks: Sequence[Block]
    complaint: str
    certain: bool

    @property
    def isa(self) -> str:
        """The instruction set of the blocks; `DEFAULT` without any."""
        return self.blocks[0].isa if self.blocks else DEFAULT


def find(text: str, limit: int) -> list[SearchHits]:
    """The groups with matches; empty for a text of more than `MAX_NAME` characters."""
    text = " ".join(text.split())
    if not text or len(text) > MAX_NAME:
        return []
    finders: list[Finder] = [schemes, named_rows, *contributed("FINDERS")]
    return [group for finder in finders for group in finder(text, limit) if group.hits]


def pasted_code(text: str) -> PastedCode | None:
    """The text parsed as basic blocks of x86-64, in assembly or hexadecimal digits; None if it is no code.

    An instruction per line, or several on one line separated by semicolons.
    """
    lines = _HEX_PREFIX.sub("", text.strip().replace("\r\n", "\n"))
    code = lines if "\n" in lines else lines.replace(";", "\n")
    certain = "\n" in code.strip()
    try:
        return PastedCode(code, read_blocks(code, MAX_BLOCKS, DETECTED), "", certain)
    except BlockError as error:
        return PastedCode(code, (), str(error), certain) if certain or isa_of_text(code) != DEFAULT else None


def with_words(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Rows with all words of the text in name or note; better matches of the name come first."""
    rank = Case(
        When(name__iexact=text, then=Value(0)),
        When(name__istartswith=text, then=Value(1)),
        When(name__icontains=text, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return rows.filter(having_words(text)).order_by(rank, "-pk")


def group(empty: SearchHits, rows: QuerySet[Any], limit: int, hit: Callable[[Any], Hit]) -> SearchHits:
    """A group with the first rows, counted only if there are more (at most two queries)."""
    first = list(rows[: limit + 1])
    total = rows.count() if len(first) > limit else len(first)
    return replace(empty, hits=[hit(row) for row in first[:limit]], total=total)


def schemes(text: str, limit: int) -> list[SearchHits]:
    """A group per instruction set, by the search syntax and ranking of the scheme table."""
    groups = []
    for isa in ISA.objects.order_by("pk"):
        try:
            rows = annotate_fit(searched_schemes(isa.schemes.all(), text), text)
        except SearchError:
            rows = annotate_fit(isa.schemes.filter(*(Q(text__icontains=word) for word in text.split())), "")
        if text.isalpha() and not rows.exists():
            rows = annotate_fit(isa.schemes.filter(category__iexact=text), "")
        empty = SearchHits("schemes", f"Schemes of {isa.name}", (), 0, "isa", isa.pk)
        groups.append(group(empty, rows.order_by(FIT, Length("text"), "text"), limit, _scheme))
    return groups


def _scheme(row: InstructionScheme) -> Hit:
    return Hit(row.pk, row.text, " · ".join(filter(None, (row.extension, row.category))), "scheme")


def named_rows(text: str, limit: int) -> list[SearchHits]:
    """Groups of mappings, runs, sets, machines and block sets, by name and note."""
    return [
        group(
            SearchHits("mappings", "Port mappings", (), 0, "mappings"),
            with_words(PortMapping.objects.defer("report").select_related("isa"), text),
            limit,
            lambda row: Hit(row.pk, row.name, f"{row.isa.name}, {len(row.ports)} ports", "mapping"),
        ),
        group(
            SearchHits("resource-mappings", "Resource mappings", (), 0, "resource-mappings"),
            with_words(ResourceMapping.objects.select_related("isa"), text),
            limit,
            lambda row: Hit(row.pk, row.name, row.isa.name, "resource-mapping"),
        ),
        group(
            SearchHits("runs", "Runs", (), 0, "runs"),
            with_words(Run.objects.only("name", "note", "kind", "state"), text),
            limit,
            lambda row: Hit(row.pk, row.name, f"{row.kind}, {row.get_state_display().lower()}", "run"),
        ),
        group(
            SearchHits("sets", "Experiment sets", (), 0, "sets"),
            with_words(ExperimentSet.objects.select_related("isa"), text),
            limit,
            lambda row: Hit(row.pk, row.name, row.isa.name, "set"),
        ),
        group(
            SearchHits("machines", "Machines", (), 0, "machines"),
            with_words(Machine.objects.only("name", "note", "cpu"), text),
            limit,
            lambda row: Hit(row.pk, row.name, row.cpu, "machine"),
        ),
        group(
            SearchHits("block-sets", "Basic-block sets", (), 0, "block-sets"),
            with_words(BasicBlockSet.objects.defer("report"), text),
            limit,
            lambda row: Hit(row.pk, row.name, f"{row.size:,} blocks", "block-set"),
        ),
    ]
