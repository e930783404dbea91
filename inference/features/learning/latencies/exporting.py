"""A set of latencies as a file for other tools."""

from __future__ import annotations

from inference.formats.exported import ExportedLatencies
from inference.formats.provenance import Provenance
from inference.formats.uops_info_digest import NAMES
from inference.formats.uops_info_xml_writing import write_latencies_xml
from inference.models import LatencySet
from inference.storage.instruction_sets import core_of

_ABBREVIATIONS = {name: short for short, name in NAMES.items()}


def latencies_xml(row: LatencySet) -> str:
    """XML like uops.info's (one query).

    The architecture is called as uops.info calls the machine's, else by the name of the set.
    """
    known = core_of(row.machine)
    name = row.name if known is None else _ABBREVIATIONS.get(known.name, row.name)
    rows = row.schemes.select_related("scheme").defer("chains").order_by("scheme__text")
    schemes = [
        ExportedLatencies(
            each.scheme.text,
            each.scheme.mnemonic,
            each.scheme.extension,
            each.scheme.category,
            each.scheme.operands,
            each.pairs,
            each.idioms,
        )
        for each in rows
    ]
    facts = (
        ("latencies", row.name),
        ("machine", row.machine.name),
        ("processor", row.machine.cpu),
        ("values", row.start_values),
    )
    return write_latencies_xml(name, schemes, Provenance((*facts, ("note", row.note))))
