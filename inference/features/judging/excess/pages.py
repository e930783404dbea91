"""The tab of what takes longer than a mapping allows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from inference.core.excess import LEAST, Exceeding, ExcessGroup
from inference.core.mapping import PortMapping as Value
from inference.features.judging.excess.query import MOST, excess_in, sets_for
from inference.features.learning.inferring.counter_examples import experiment_url
from inference.models import ExperimentSet, PortMapping
from inference.web.requests import whole_number

SHOWN = 2  # experiments of a group
GROUPS = 25


def excess_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The groups of experiments in one set; the address may name it."""
    sets = sets_for(row)
    wanted = whole_number(request, "set")
    chosen = sets[0] if sets else None
    if wanted is not None:
        chosen = get_object_or_404(ExperimentSet, pk=wanted, isa_id=row.isa_id)
    found = None if chosen is None else excess_in(row, chosen)
    return {
        "sets": sets,
        "chosen": chosen,
        "excess": found,
        "groups": [] if found is None else [_shown(row, value, group) for group in found.groups[:GROUPS]],
        "least": LEAST,
        "most": MOST,
    }


def _shown(row: PortMapping, value: Value, group: ExcessGroup) -> dict[str, Any]:
    def told(each: Exceeding) -> tuple[Exceeding, str]:
        return each, experiment_url(each.experiment, row.isa, row)

    return {
        "group": group,
        "port_sets": [f"[{','.join(names)}]" for names in group.port_names(value.ports)],
        "examples": [told(each) for each in group.exceeding[:SHOWN]],
    }
