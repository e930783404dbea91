"""What explainable inference concluded of each scheme, without the witnesses."""

from __future__ import annotations

from inference.models import Characterisation, PortMapping


def verdicts_of(row: PortMapping) -> list[tuple[str, str, str, str, str]]:
    """(scheme, stage, outcome, reason, the reason with its numbers) of every scheme asked for."""
    found = Characterisation.objects.filter(mapping=row).order_by("id")
    return list(found.values_list("scheme__text", "stage", "outcome", "reason", "text"))
