"""The search syntax of schemes (`inference.isa.search`) as a database filter, and the ranking of matches.

The rank is a single number per row (`FIT`), because paging continues after a row's number
(`inference.web.paging`).
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


def _exclusion_begins_with(prefixes: Iterable[str]) -> Q:
    return reduce(or_, (Q(exclusion__startswith=prefix) for prefix in prefixes))


MEASURABLE = Q(exclusion="") | _exclusion_begins_with(SELECTABLE)
"""Schemes that can be measured without dependency-breaking instructions."""

HAS_BREAKABLE_DEPENDENCY = _exclusion_begins_with(BREAKABLE)

STACKED = _exclusion_begins_with([TOP_OF_STACK])
"""x87 schemes on the top of the register stack: only latencies of chains can be measured."""
CHAINABLE = HAS_BREAKABLE_DEPENDENCY | _exclusion_begins_with(ONLY_IN_CHAINS)
"""Schemes outside the default set whose latencies can be measured: chains break their other dependencies, and
fix the values of divisions.
"""

AVX512 = Q(encoding="EVEX") | Q(extension__istartswith="AVX512") | Q(extension__icontains="+AVX512")
"""AVX-512 with its mask registers: more schemes than all other extensions together."""

_IS = {
    "starter": Q(starter=True),
    "default": Q(exclusion=""),
    "excluded": ~Q(exclusion=""),
    "measurable": MEASURABLE,
    "breakable": HAS_BREAKABLE_DEPENDENCY,
    "legacy-sse": _exclusion_begins_with([GROUPS["legacy-sse"]]),
    "mmx": _exclusion_begins_with([GROUPS["mmx"]]),
    "x87": _exclusion_begins_with([GROUPS["x87"]]),
    "avx512": AVX512,
}


def name_condition(value: str) -> Q:
    """Schemes with this mnemonic or text in another spelling (`names` of the targets)."""
    meanings = [target.names.meaning_of(value) for target in targets()]
    mnemonics = {mnemonic for meaning in meanings for mnemonic in meaning.mnemonics}
    texts = {text for meaning in meanings for text in meaning.texts}
    return Q(mnemonic__in=sorted(mnemonics)) | Q(text__in=sorted(texts))


def _operand_condition(value: str) -> Q:
    beginnings = sorted({name for target in targets() for name in target.names.meaning_of(value).operands})
    return reduce(or_, (Q(text__contains=f" {beginning}") for beginning in beginnings), Q(pk__in=()))


_BY_KEY: dict[str, Callable[[str], Q]] = {
    "text": lambda value: Q(text__icontains=value) | name_condition(value) | _operand_condition(value),
    "mnemonic": lambda value: Q(mnemonic__iexact=value) | name_condition(value),
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
    """The schemes that satisfy every term of a search text. Raises `SearchError` for a malformed text."""
    for term in parse_search(query):
        schemes = schemes.filter(term_condition(term))
    return schemes


def matching_texts(isa_id: int, query: str) -> set[str]:
    """The texts of an instruction set's schemes that match a search. Raises `SearchError`."""
    matches = search_schemes(InstructionScheme.objects.filter(isa=isa_id), query)
    return set(matches.values_list("text", flat=True))


def term_condition(term: SearchTerm) -> Q:
    matches = _BY_KEY[term.key](term.value)
    return ~matches if term.negated else matches


PROBE_SELECTION = "probes"
"""One or two schemes for each kind of execution unit; see `inference.isa.facets.SchemeCatalogue`."""

GROUP_SELECTIONS = {
    "legacy-sse": "legacy SSE, measured separately from VEX-encoded instructions",
    "mmx": "MMX",
    "x87": "x87 instructions that do not move the top of the register stack",
    "avx512": "AVX-512",
}
"""Groups of schemes that are measured only if selected by name; see `inference.isa.scheme`."""

NAMED_SELECTIONS = {
    "starter": "is:starter is:default",
    "default": "is:default",
    **{name: f"is:{name} is:measurable" for name in GROUP_SELECTIONS},
    "all": "",
}


def searched_schemes(
    schemes: QuerySet[InstructionScheme], query: str, *, avx512: bool = False
) -> QuerySet[InstructionScheme]:
    """Like `search_schemes`, but without AVX-512 unless `avx512` is true or the search text names it."""
    matches = search_schemes(schemes, query)
    return matches if avx512 or names_avx512(parse_search(query)) else matches.exclude(AVX512)


def select_schemes(schemes: QuerySet[InstructionScheme], selection: str) -> QuerySet[InstructionScheme]:
    """The schemes of a `--schemes` option or form field: probes, starter, default, a group, all, or a search.

    A search matches AVX-512 only if it names it. Raises `SearchError` for a malformed search.
    """
    word = selection.strip().lower()
    if word == PROBE_SELECTION:
        return schemes.filter(text__in=_catalogue_texts(lambda catalogue: catalogue.probes))
    if word in NAMED_SELECTIONS:
        return search_schemes(schemes, NAMED_SELECTIONS[word])
    return searched_schemes(schemes, selection)


def _catalogue_texts(texts_of: Callable[[SchemeCatalogue], Iterable[str]]) -> set[str]:
    return {text for target in targets() for text in texts_of(target.schemes)}


def latency_schemes(schemes: QuerySet[InstructionScheme], selection: str) -> QuerySet[InstructionScheme]:
    """Like `select_schemes`, for measuring latencies, where more schemes can be measured than for throughput.

    "default" adds `CHAINABLE` schemes, among them all integer divisions, and legacy SSE, whose chains contain
    no VEX instruction; "starter" adds the divisions of 32 and 64 bits and the square root; "x87" adds
    `STACKED` schemes. "all" equals "default": chains of the remaining schemes either show nothing or are
    measured only if selected by name.
    """
    word = selection.strip().lower()
    if word in ("default", "all"):
        return schemes.filter(Q(exclusion="") | CHAINABLE | _IS["legacy-sse"])
    divisions = _catalogue_texts(lambda catalogue: catalogue.divisions)
    additional = {"starter": Q(text__in=divisions), "x87": STACKED}.get(word)
    selected = select_schemes(schemes, selection)
    return selected if additional is None else selected | schemes.filter(additional)


def goes_beyond_default(selection: str) -> bool:
    """Whether a selection names schemes outside the default set. Raises `SearchError`."""
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


def annotate_fit(rows: QuerySet[InstructionScheme], query: str) -> QuerySet[InstructionScheme]:
    """The rows annotated with `FIT`: 0 is the best match. All rows get 0 if no term is a text or mnemonic."""
    terms = [term for term in parse_search(query) if not term.negated and term.key in ("text", "mnemonic")]
    if not terms:
        return rows.annotate(**{FIT: Value(0, IntegerField())})
    return rows.annotate(
        **{
            FIT: _text_rank(query, terms[0]) * _RELEVANCE
            + _if_else(_is_measured(), 0, 1) * _MEASURED
            + _rarity_rank() * _FORM
            + _operand_rank() * _OPERANDS
            + _width_rank()
        }
    )


def _text_rank(query: str, term: SearchTerm) -> Combinable:
    """0 if the text is equal, 1 if the mnemonic is, 2 if it begins with the term, else 3."""
    return _first_match_rank(
        Q(text__iexact=query.strip().strip('"')),
        Q(mnemonic__iexact=term.value) | name_condition(term.value),
        Q(mnemonic__istartswith=term.value),
    )


def _is_measured() -> Q:
    """Whether any experiment of this database contains the scheme."""
    return Q(Exists(ExperimentTerm.objects.filter(scheme=OuterRef("pk"))))


def _rarity_rank() -> Combinable:
    """Larger for forms that programs rarely use: 8- and 16-bit operands, prefixes, masks, fixed
    immediates.
    """
    is_rare = (
        ~Q(text__startswith=F("mnemonic"))
        | Q(text__contains="{")
        | Q(text__contains=" 0x")
        | Q(text__contains="GPR[8h]")
        | Q(text__contains="GPR[8a]")
        | Q(text__contains="GPR[8b]")
    )
    return _if_else(Q(width__in=_SMALL), 1, 0) + _if_else(is_rare, 2, 0) + _if_else(Q(exclusion=""), 0, 1)


def _operand_rank() -> Combinable:
    """Ranks register operands before memory operands, and forms without an immediate before those with
    one.
    """
    memory = Case(
        When(memory="", then=Value(0)),
        When(memory="R", then=Value(2)),
        default=Value(4),
        output_field=IntegerField(),
    )
    return memory + _if_else(Q(text__contains="IMM["), 1, 0)


def _width_rank() -> Combinable:
    return _first_match_rank(*(Q(width=width) for width in _WIDTHS))


def _first_match_rank(*conditions: Q) -> Combinable:
    """The number of the first condition that holds, from 0."""
    cases = [When(condition, then=Value(number)) for number, condition in enumerate(conditions)]
    return Case(*cases, default=Value(len(conditions)), output_field=IntegerField())


def _if_else(condition: Q, then: int, otherwise: int) -> Combinable:
    return Case(When(condition, then=Value(then)), default=Value(otherwise), output_field=IntegerField())
