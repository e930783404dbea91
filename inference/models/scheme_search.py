"""The scheme table's search syntax (`inference.isa.search`) as a database filter."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Q, QuerySet

from inference.isa.search import Term, parse_search
from inference.isa.x86.probes import PROBES
from inference.models.isa import InstructionScheme

_IS = {
    "starter": Q(starter=True),
    "default": Q(exclusion=""),
    "excluded": ~Q(exclusion=""),
}
_BY_KEY: dict[str, Callable[[str], Q]] = {
    "text": lambda value: Q(text__icontains=value),
    "mnemonic": lambda value: Q(mnemonic__iexact=value),
    # A scheme may need several CPU features, joined by plus signs.
    "ext": lambda value: (
        Q(extension__iexact=value)
        | Q(extension__istartswith=f"{value}+")
        | Q(extension__iendswith=f"+{value}")
        | Q(extension__icontains=f"+{value}+")
    ),
    "category": lambda value: Q(category__iexact=value),
    "memory": lambda value: Q(memory="" if value == "none" else value),
    "width": lambda value: Q(width=int(value)),
    "is": lambda value: _IS[value],
}


def search_schemes(schemes: QuerySet[InstructionScheme], query: str) -> QuerySet[InstructionScheme]:
    """The schemes that satisfy every term of a search text; raises `SearchError` for one it cannot read."""
    for term in parse_search(query):
        schemes = schemes.filter(condition(term))
    return schemes


def condition(term: Term) -> Q:
    """The database condition for one term."""
    wanted = _BY_KEY[term.key](term.value)
    return ~wanted if term.negated else wanted


PROBE_SELECTION = "probes"
"""One or two schemes for each kind of execution unit; see `inference.isa.x86.probes`."""

NAMED_SELECTIONS = {"starter": "is:starter is:default", "default": "is:default", "all": ""}


def select_schemes(schemes: QuerySet[InstructionScheme], selection: str) -> QuerySet[InstructionScheme]:
    """The schemes that `--schemes` or the infer form means: probes, starter, default, all, or a search."""
    if selection.strip().lower() == PROBE_SELECTION:
        return schemes.filter(text__in=PROBES)
    return search_schemes(schemes, NAMED_SELECTIONS.get(selection.strip().lower(), selection))
