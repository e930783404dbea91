"""Which schemes the forms offer for a machine."""

from __future__ import annotations

from django import forms
from django.db.models import Q, QuerySet

from inference.core.protocols import Json
from inference.isa.search import SearchError
from inference.models import InstructionScheme, Machine
from inference.models.scheme_search import BREAKABLE_ONES, goes_beyond_default, select_schemes
from inference.runs.jobs.machine_facts import executable_schemes


def measurable_schemes(
    machine: Machine, selection: str = "", *, breaking: bool = False
) -> QuerySet[InstructionScheme]:
    """Those of its mapping for a simulated machine; for a computer those that its CPU seems to have.

    These are of the default set unless the selection says otherwise, and with `breaking` also those whose
    dependencies other instructions break. Raises `SearchError`.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        return machine.isa.schemes.filter(text__in=list(machine.facts["mapping"]["usage"]))
    able = executable_schemes(machine, breaking=breaking)
    if goes_beyond_default(selection):
        return able
    return able.filter(Q(exclusion="") | BREAKABLE_ONES if breaking else Q(exclusion=""))


def chosen_schemes(form: forms.Form, machine: Machine) -> list[tuple[int, str]]:
    """(id, text) of what the fields `selection`, `filter` and `breaking` of a valid form choose there.

    Empty where the search is wrong or finds nothing, which has become an error of its field.
    """
    data = form.cleaned_data
    try:
        selection = data["filter"] if data["selection"] == "filter" else data["selection"]
        breaking = bool(data.get("breaking"))
        chosen = select_schemes(measurable_schemes(machine, selection, breaking=breaking), selection)
        texts = list(chosen.order_by("id").values_list("pk", "text"))
    except SearchError as error:
        form.add_error("filter", str(error))
        return []
    if not texts:
        form.add_error(
            "selection", f"None of these schemes can be measured on {machine.name}: choose others."
        )
    return texts


def schemes_config(form: forms.Form, chosen: list[tuple[int, str]]) -> Json:
    """The fields of a run's description that choose these schemes."""
    data = form.cleaned_data
    if data["selection"] == "filter":
        return {"schemes": [pk for pk, _ in chosen], "scheme_filter": data["filter"]}
    return {"schemes": data["selection"]}
