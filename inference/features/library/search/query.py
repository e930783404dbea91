"""What the search box finds: schemes, mappings, sets, runs, machines, and what other apps add to these.

Each kind of thing is found in its own way and makes a group, in the order of `kinds`. Other apps register
theirs when they start (`inference.web.contributions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Length

from inference.isa.blocks import Block, BlockError, read_blocks
from inference.isa.search import SearchError
from inference.isa.targets.recognising import looks_like_aarch64
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
from inference.models.scheme_fit import FIT, by_fit
from inference.models.scheme_search import searched_schemes
from inference.web.contributions import FINDERS, Finder, Hit, SearchHits
from inference.web.paging import having_words

MOST_TEXT = 4000
"""Characters of a text that is looked for; pasted assembly is the longest."""

MOST_NAME = 200
"""Characters of a text that could be in a name or a note."""

MOST_BLOCKS = 20


@dataclass(frozen=True)
class Pasted:
    """A text taken for basic blocks: what it has of them, or the complaint why not.

    `code` is the text with an instruction on each line; `certain`: it has several
    lines, and can be nothing else. One line of AArch64 has a complaint, too.
    """

    code: str
    blocks: Sequence[Block]
    complaint: str
    certain: bool


def find(text: str, most: int) -> list[SearchHits]:
    """The groups with anything in them; a text of more than `MOST_NAME` characters is no name."""
    text = " ".join(text.split())
    if not text or len(text) > MOST_NAME:
        return []
    finders: list[Finder] = [schemes, named_rows, *FINDERS]
    return [group for finder in finders for group in finder(text, most) if group.hits]


def pasted(text: str) -> Pasted | None:
    """The basic blocks of x86-64 that the text could be, in assembly or in digits; None where it is none.

    An instruction per line, or several on one line with semicolons between them.
    """
    lines = text.strip().replace("\r\n", "\n")
    code = lines if "\n" in lines else lines.replace(";", "\n")
    certain = "\n" in code.strip()
    try:
        return Pasted(code, read_blocks(code, MOST_BLOCKS), "", certain)
    except BlockError as error:
        return Pasted(code, (), str(error), certain) if certain or looks_like_aarch64(code) else None


def with_words(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Rows that have all words of the text in name or note; those of that name come first."""
    rank = Case(
        When(name__iexact=text, then=Value(0)),
        When(name__istartswith=text, then=Value(1)),
        When(name__icontains=text, then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return rows.filter(having_words(text)).order_by(rank, "-pk")


def group(empty: SearchHits, rows: QuerySet[Any], most: int, hit: Callable[[Any], Hit]) -> SearchHits:
    """A group with the first rows; they are counted only where there are more (at most two queries)."""
    first = list(rows[: most + 1])
    total = rows.count() if len(first) > most else len(first)
    return replace(empty, hits=[hit(row) for row in first[:most]], total=total)


def schemes(text: str, most: int) -> list[SearchHits]:
    """A group per instruction set, by the search syntax and in the order of its table."""
    found = []
    for isa in ISA.objects.order_by("pk"):
        try:
            rows = by_fit(searched_schemes(isa.schemes.all(), text), text)
        except SearchError:
            rows = by_fit(isa.schemes.filter(*(Q(text__icontains=word) for word in text.split())), "")
        empty = SearchHits("schemes", f"Schemes of {isa.name}", (), 0, "isa", isa.pk)
        found.append(group(empty, rows.order_by(FIT, Length("text"), "text"), most, _scheme))
    return found


def _scheme(row: InstructionScheme) -> Hit:
    return Hit(row.pk, row.text, " · ".join(filter(None, (row.extension, row.category))), "scheme")


def named_rows(text: str, most: int) -> list[SearchHits]:
    """Mappings, runs, sets, machines and block sets by name and note."""
    return [
        group(
            SearchHits("mappings", "Port mappings", (), 0, "mappings"),
            with_words(PortMapping.objects.defer("report").select_related("isa"), text),
            most,
            lambda row: Hit(row.pk, row.name, f"{row.isa.name}, {len(row.ports)} ports", "mapping"),
        ),
        group(
            SearchHits("resource-mappings", "Resource mappings", (), 0, "resource-mappings"),
            with_words(ResourceMapping.objects.select_related("isa"), text),
            most,
            lambda row: Hit(row.pk, row.name, row.isa.name, "resource-mapping"),
        ),
        group(
            SearchHits("runs", "Runs", (), 0, "runs"),
            with_words(Run.objects.only("name", "note", "kind", "state"), text),
            most,
            lambda row: Hit(row.pk, row.name, f"{row.kind}, {row.get_state_display().lower()}", "run"),
        ),
        group(
            SearchHits("sets", "Experiment sets", (), 0, "sets"),
            with_words(ExperimentSet.objects.select_related("isa"), text),
            most,
            lambda row: Hit(row.pk, row.name, row.isa.name, "set"),
        ),
        group(
            SearchHits("machines", "Machines", (), 0, "machines"),
            with_words(Machine.objects.only("name", "note", "cpu"), text),
            most,
            lambda row: Hit(row.pk, row.name, row.cpu, "machine"),
        ),
        group(
            SearchHits("block-sets", "Basic-block sets", (), 0, "block-sets"),
            with_words(BasicBlockSet.objects.defer("report"), text),
            most,
            lambda row: Hit(row.pk, row.name, f"{row.size:,} blocks", "block-set"),
        ),
    ]
