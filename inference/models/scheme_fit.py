"""Which of the schemes that a search finds stand first: what it names, measured here, in the usual form.

The order is one number per row (`FIT`), so that pages can go on from a row (`inference.web.paging`).
"""

from __future__ import annotations

from django.db.models import Case, Exists, F, IntegerField, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from inference.isa.search import SearchTerm, parse_search
from inference.models.experiment import ExperimentTerm
from inference.models.isa import InstructionScheme
from inference.models.scheme_search import named_schemes

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
