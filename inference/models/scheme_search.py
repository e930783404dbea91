"""The scheme table's search syntax (`inference.isa.search`) as a database filter, and what fits it best.

The order is one number per row (`FIT`), so that pages can go on from a row (`inference.web.paging`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_

from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from inference.isa.facets import SchemeCatalogue
from inference.isa.scheme import BREAKABLE, GROUPS, ONLY_IN_CHAINS, SELECTABLE, TOP_OF_STACK
from inference.isa.search import SearchTerm, names_avx512, parse_search
from inference.isa.targets import targets
from inference.models.experiment import ExperimentTerm, InstructionScheme


def _begins(beginnings: Iterable[str]) -> Q:
    """Schemes whose reason for being left out begins with one of these."""
    return reduce(or_, (Q(exclusion__startswith=one) for one in beginnings))


MEASURABLE = Q(exclusion="") | _begins(SELECTABLE)
"""Schemes that can be measured, without anything to break their dependencies."""

BREAKABLE_ONES = _begins(BREAKABLE)

STACKED = _begins([TOP_OF_STACK])
"""x87 that works on the top of its stack: only chains show anything of it."""
CHAINABLE = BREAKABLE_ONES | _begins(ONLY_IN_CHAINS)
"""Schemes that are not in the default set, and whose latencies chains show: these break dependencies of their
own, and hold the values of divisions."""

AVX512 = Q(encoding="EVEX") | Q(extension__istartswith="AVX512") | Q(extension__icontains="+AVX512")
"""AVX-512 with its mask registers: more schemes than everything else together."""

_IS = {
    "starter": Q(starter=True),
    "default": Q(exclusion=""),
    "excluded": ~Q(exclusion=""),
    "measurable": MEASURABLE,
    "breakable": BREAKABLE_ONES,
    "legacy-sse": _begins([GROUPS["legacy-sse"]]),
    "mmx": _begins([GROUPS["mmx"]]),
    "x87": _begins([GROUPS["x87"]]),
    "avx512": AVX512,
}


def named_schemes(value: str) -> Q:
    """The schemes that a word means as a name of theirs."""
    meanings = [target.names.meaning_of(value) for target in targets()]
    mnemonics = {mnemonic for meant in meanings for mnemonic in meant.mnemonics}
    texts = {text for meant in meanings for text in meant.texts}
    return Q(mnemonic__in=sorted(mnemonics)) | Q(text__in=sorted(texts))


_BY_KEY: dict[str, Callable[[str], Q]] = {
    "text": lambda value: Q(text__icontains=value) | named_schemes(value),
    "mnemonic": lambda value: Q(mnemonic__iexact=value) | named_schemes(value),
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


def texts_found(isa_id: int, query: str) -> set[str]:
    """The texts of an instruction set's schemes that the search finds. Raises `SearchError`."""
    found = search_schemes(InstructionScheme.objects.filter(isa=isa_id), query)
    return set(found.values_list("text", flat=True))


def condition(term: SearchTerm) -> Q:
    """The database condition for one term."""
    wanted = _BY_KEY[term.key](term.value)
    return ~wanted if term.negated else wanted


PROBE_SELECTION = "probes"
"""One or two schemes for each kind of execution unit; see `inference.isa.facets.SchemeCatalogue`."""

GROUP_SELECTIONS = {
    "legacy-sse": "legacy SSE: measured apart from VEX-encoded instructions",
    "mmx": "MMX",
    "x87": "x87, as far as it leaves the register stack where it is",
    "avx512": "AVX-512",
}
"""Groups of schemes that are measured when they are asked for; see `inference.isa.scheme`."""

NAMED_SELECTIONS = {
    "starter": "is:starter is:default",
    "default": "is:default",
    **{name: f"is:{name} is:measurable" for name in GROUP_SELECTIONS},
    "all": "",
}


def searched_schemes(
    schemes: QuerySet[InstructionScheme], query: str, *, avx512: bool = False
) -> QuerySet[InstructionScheme]:
    """The same without AVX-512, unless `avx512` or the search text names it."""
    found = search_schemes(schemes, query)
    return found if avx512 or names_avx512(parse_search(query)) else found.exclude(AVX512)


def select_schemes(schemes: QuerySet[InstructionScheme], selection: str) -> QuerySet[InstructionScheme]:
    """The schemes that `--schemes` or a form means: probes, starter, default, a group, all, or a search.

    A search finds AVX-512 only if it names it.
    """
    word = selection.strip().lower()
    if word == PROBE_SELECTION:
        return schemes.filter(text__in=_texts(lambda catalogue: catalogue.probes))
    if word in NAMED_SELECTIONS:
        return search_schemes(schemes, NAMED_SELECTIONS[word])
    return searched_schemes(schemes, selection)


def _texts(of: Callable[[SchemeCatalogue], Iterable[str]]) -> set[str]:
    """Texts of all instruction sets that have a folder here."""
    return {text for target in targets() for text in of(target.schemes)}


def latency_schemes(schemes: QuerySet[InstructionScheme], selection: str) -> QuerySet[InstructionScheme]:
    """The same where latencies are measured: the default set has the `CHAINABLE` ones as well, among them all
    integer divisions, and legacy SSE, whose chains have no VEX beside it; the starter set the divisions of 32
    and 64 bits and the square root; x87 the `STACKED` ones.

    All are the default set, since of the others no chain shows anything, or only if they are asked for.
    """
    word = selection.strip().lower()
    if word in ("default", "all"):
        return schemes.filter(Q(exclusion="") | CHAINABLE | _IS["legacy-sse"])
    divisions = _texts(lambda catalogue: catalogue.divisions)
    more = {"starter": Q(text__in=divisions), "x87": STACKED}.get(word)
    chosen = select_schemes(schemes, selection)
    return chosen if more is None else chosen | schemes.filter(more)


def goes_beyond_default(selection: str) -> bool:
    """Whether a selection asks for schemes that are not in the default set. Raises `SearchError`."""
    word = selection.strip().lower()
    if word in NAMED_SELECTIONS:
        return word in GROUP_SELECTIONS
    terms = parse_search(selection)
    return names_avx512(terms) or any(term.key == "is" and not term.negated for term in terms)


FIT = "fit"
"""Name of the annotation."""

_RELEVANCE, _MEASURED, _FORM, _OPERANDS = 100_000, 10_000, 1_000, 10
_WIDTHS = (64, 32, 128, 256, 512, 80, 16, 8)
_SMALL = (8, 16)


def by_fit(rows: QuerySet[InstructionScheme], query: str) -> QuerySet[InstructionScheme]:
    """The rows with `FIT`, the less the better: of no search text that can be read, all are alike."""
    terms = [term for term in parse_search(query) if not term.negated and term.key in ("text", "mnemonic")]
    if not terms:
        return rows.annotate(**{FIT: Value(0, IntegerField())})
    return rows.annotate(
        **{
            FIT: _relevance(query, terms[0]) * _RELEVANCE
            + _either(_measured(), 0, 1) * _MEASURED
            + _unusual() * _FORM
            + _operands() * _OPERANDS
            + _width()
        }
    )


def _relevance(query: str, term: SearchTerm) -> Combinable:
    """From the very text to a part of one."""
    return _first(
        Q(text__iexact=query.strip().strip('"')),
        Q(mnemonic__iexact=term.value) | named_schemes(term.value),
        Q(mnemonic__istartswith=term.value),
    )


def _measured() -> Q:
    """Whether any experiment of this database has the scheme."""
    return Q(Exists(ExperimentTerm.objects.filter(scheme=OuterRef("pk"))))


def _unusual() -> Combinable:
    """Small operands, and what few programs have: prefixes, masks, high bytes, fixed immediates."""
    strange = (
        ~Q(text__startswith=F("mnemonic"))
        | Q(text__contains="{")
        | Q(text__contains=" 0x")
        | Q(text__contains="GPR[8h]")
        | Q(text__contains="GPR[8a]")
        | Q(text__contains="GPR[8b]")
    )
    return _either(Q(width__in=_SMALL), 1, 0) + _either(strange, 2, 0) + _either(Q(exclusion=""), 0, 1)


def _operands() -> Combinable:
    """Registers alone before memory, and neither with an immediate before those with one."""
    memory = Case(
        When(memory="", then=Value(0)),
        When(memory="R", then=Value(2)),
        default=Value(4),
        output_field=IntegerField(),
    )
    return memory + _either(Q(text__contains="IMM["), 1, 0)


def _width() -> Combinable:
    return _first(*(Q(width=width) for width in _WIDTHS))


def _first(*conditions: Q) -> Combinable:
    """The number of the first condition that holds, from 0."""
    cases = [When(condition, then=Value(number)) for number, condition in enumerate(conditions)]
    return Case(*cases, default=Value(len(conditions)), output_field=IntegerField())


def _either(condition: Q, then: int, otherwise: int) -> Combinable:
    return Case(When(condition, then=Value(then)), default=Value(otherwise), output_field=IntegerField())
