"""The ports of core models: schemes that only others show, and times of those whose ports are not known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from django.db.models import Q

from inference.core.explain import NotCharacterised
from inference.core.mapping import PortMapping, with_sums
from inference.isa.scheme import LEGACY_SSE
from inference.isa.targets import code_target
from inference.models import ISA, InstructionScheme
from inference.models import PortMapping as PortMappingRow
from inference.storage.mappings import load_mapping, load_part
from inference.storage.rows import ids_of_schemes

_AT_FULL_RATE = 1.2
"""Factor on the cycles at R_max up to which a scheme alone counts as running at R_max."""


def equivalent_schemes(isa: ISA, texts: Collection[str] | None) -> dict[str, tuple[str, ...]]:
    """{scheme: schemes that do the same work} of schemes that cannot be measured themselves."""
    catalogue = code_target(isa.name).schemes
    has_equivalents = Q(text__in=catalogue.equivalent_schemes) | Q(exclusion__startswith=LEGACY_SSE)
    schemes = InstructionScheme.objects.filter(has_equivalents, isa=isa)
    if texts is not None:
        schemes = schemes.filter(text__in=texts)
    return {text: catalogue.same_work(text) for text in schemes.values_list("text", flat=True)}


def described_mapping(
    row: PortMappingRow, texts: Collection[str] | None, equivalents: Mapping[str, Sequence[str]]
) -> PortMapping:
    """The mapping with further schemes: those that need no port, with no µops, and those that cannot be
    measured, with the µops of their `equivalents`.
    """
    portless = row.characterisations.filter(_needs_no_port(row))
    if texts is None:
        mapping = load_mapping(row)
    else:
        ids = ids_of_schemes(row.isa_id, texts)
        mapping = load_part(row, {pk: text for text, pk in ids.items()})
        portless = portless.filter(scheme__in=ids.values())
    sums = dict.fromkeys(portless.values_list("scheme__text", flat=True), ())
    return with_sums(mapping, {**sums, **equivalents})


def times_alone(
    row: PortMappingRow, texts: Collection[str] | None, equivalents: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """{scheme: cycles of one instance} of measured schemes whose ports were not found, and of schemes with
    one of them as their only equivalent.
    """
    rows = row.characterisations.filter(cycles__isnull=False).exclude(reason="")
    rows = rows.exclude(_needs_no_port(row))
    if texts is not None:
        rows = rows.filter(scheme__text__in=texts)
    listed = rows.values_list("scheme__text", "cycles")
    times = {text: cycles for text, cycles in listed if cycles is not None}
    single_equivalents = {
        text: times[first]
        for text, (first, *equivalent) in equivalents.items()
        if first in times and not equivalent
    }
    return {**single_equivalents, **times}


def _needs_no_port(row: PortMappingRow) -> Q:
    """Characterisations of schemes without ports: by their reason, or by delaying no flood at R_max."""
    condition = Q(reason=NotCharacterised.NO_PORTS)
    if row.r_max is not None:
        condition |= Q(reason=NotCharacterised.MISSING, cycles__lte=_AT_FULL_RATE / row.r_max)
    return condition
