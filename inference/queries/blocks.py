"""Basic blocks beside what is known of them: rows of their schemes, and what port mappings predict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping as MappingValue
from inference.core.mapping import Uops, uops_of
from inference.core.throughput import inverse_throughput
from inference.exchange.stored import ids_of_schemes
from inference.isa.x86.blocks import Block
from inference.models import ISA, PortMapping, PortUsage

MOST_MAPPINGS = 8
"""Predictions shown of one block, by the newest mappings that describe it."""


@dataclass(frozen=True)
class BlockPrediction:
    """Cycles per iteration that the ports of a mapping allow; dependencies are not seen."""

    mapping: PortMapping
    cycles: float


def scheme_rows(blocks: Sequence[Block], isa: ISA) -> dict[str, int]:
    """{scheme text: row id} of all schemes that occur."""
    return ids_of_schemes(isa.pk, (text for block in blocks for text, _ in block.terms))


def predictions_of(blocks: Sequence[Block], isa: ISA, rows: Mapping[str, int]) -> list[list[BlockPrediction]]:
    """Of each block what the newest mappings say that describe all of its instructions; two queries."""
    texts = {row: text for text, row in rows.items()}
    pairs: dict[int, dict[str, list[tuple[int, int]]]] = defaultdict(dict)
    found = PortUsage.objects.filter(scheme__in=texts, mapping__isa=isa)
    for mapping, scheme, mask, count in found.values_list("mapping_id", "scheme_id", "mask", "count"):
        uops = pairs[mapping].setdefault(texts[scheme], [])
        if count:
            uops.append((mask, count))
    usage = {pk: {text: uops_of(uops) for text, uops in known.items()} for pk, known in pairs.items()}
    mappings = list(PortMapping.objects.filter(pk__in=usage).defer("report").order_by("-id"))
    return [_predicted(block, mappings, usage) for block in blocks]


def _predicted(
    block: Block, mappings: Sequence[PortMapping], usage: Mapping[int, Mapping[str, Uops]]
) -> list[BlockPrediction]:
    if block.unknown or not block.terms:
        return []
    predictions = []
    for row in mappings:
        known = usage[row.pk]
        if len(predictions) < MOST_MAPPINGS and all(text in known for text, _ in block.terms):
            value = MappingValue(
                tuple(row.ports), {text: known[text] for text, _ in block.terms}, r_max=row.r_max
            )
            cycles = inverse_throughput(value, Experiment.of(dict(block.terms)))
            predictions.append(BlockPrediction(row, cycles))
    return predictions
