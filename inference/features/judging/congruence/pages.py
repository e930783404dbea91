"""The classes of a mapping, which of them rest on little, and the button that measures what is missing."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from inference.core.mapping import PortMapping as Value
from inference.features.judging.congruence.query import congruence_of
from inference.features.learning.explained.remeasuring import means_of, measure_listed, posted_number
from inference.features.learning.inferring.classes_section import FEW_COMPARED, classes_context
from inference.models import Machine, PortMapping


def classes_tab(request: HttpRequest, row: PortMapping, value: Value) -> dict[str, Any]:
    """The classes that the mapping's run found, and how many members few experiments were compared for."""
    found = congruence_of(row)
    return {
        **classes_context(request, found.classes, row.isa, value, likeness=found.likeness),
        "weak": found.weak,
        "missing": found.pairs,
        "few": FEW_COMPARED,
        "means": means_of(row) if found.pairs else None,
    }


@require_POST
def mapping_classes_measure(request: HttpRequest, pk: int) -> HttpResponse:
    """Measure the missing pairs on a machine, and show the run."""
    row = get_object_or_404(PortMapping.objects.select_related("isa", "machine", "run"), pk=pk)
    back = f"{reverse('mapping', args=[pk])}?tab=classes"
    pairs = congruence_of(row).pairs
    if not pairs:
        messages.error(request, "Nothing was measured: no pair is missing.")
        return redirect(back)
    machine = get_object_or_404(Machine, pk=posted_number(request, "machine"), isa=row.isa_id)
    run = measure_listed(request, machine, pairs, 1, f"{row.name[:100]}: pairs for its classes")
    return redirect(back) if run is None else redirect("run", run.pk)


urlpatterns = [
    path("mappings/<int:pk>/classes/", mapping_classes_measure, name="mapping-classes-measure"),
]
