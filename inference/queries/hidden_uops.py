"""What no experiment can show of a stored mapping's µops."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from inference.core.hidden_uops import hidden_kinds
from inference.exchange.stored import load_mapping
from inference.models import PortMapping


def hidden_kinds_of(row: PortMapping) -> frozenset[int]:
    """The port sets of µops that no experiment over all of the mapping's schemes can show."""
    return _hidden_kinds(row.pk, row.created)


@lru_cache(maxsize=64)
def _hidden_kinds(mapping_id: int, created: datetime) -> frozenset[int]:
    """Remembered, since what a mapping says never changes; a new mapping has a new number and date."""
    del created
    return hidden_kinds(load_mapping(PortMapping.objects.get(pk=mapping_id)))
