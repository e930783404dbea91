"""Pages of model checks: the results on a run's page, its CSV files, and the form that starts a check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.utils.http import urlencode

from inference.core.experiment import Unit
from inference.core.metrics import score
from inference.core.model_check import MIX_LENGTHS, SHORT_CYCLES_MAX, AloneCheck, AloneVerdict
from inference.core.protocols import Json
from inference.features.judging.engine.tables import LinkedNumber, LinkedText, csv_of, page_cells, text, usage
from inference.features.judging.findings.model_check import (
    TABLES,
    CheckConfig,
    ModelCheck,
    archived,
    check_effort,
    checked_schemes,
    mixes_table,
    model_check_of,
    orders_table,
    reference_of,
    schemes_table,
)
from inference.features.learning.explained.query import usages_in
from inference.features.learning.explained.remeasuring import posted_number
from inference.features.learning.inferring.reference import documented_for
from inference.features.machines.machines.query import machines
from inference.features.machines.measure.form import (
    MeasuringForm,
    MeasuringPlan,
    measuring_page,
    schemes_config,
    selection_field,
)
from inference.features.running.runs.kind_presentation import (
    DescriptionItem,
    KindPresentation,
    links,
    schemes_text,
)
from inference.figures.heatmap import HeatMap, heat_map
from inference.isa.search import SearchError
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run
from inference.runs.machines.facts import obstacle_to_measuring
from inference.storage.rows import ids_of_schemes
from inference.web.file_answers import table_answer
from inference.web.paging import page_in_memory
from inference.web.published_page import PublishedTable
from inference.web.request_fields import RequestField
from inference.web.validation import choice_parameter, number_parameter

VERDICT_LABELS = {
    AloneVerdict.WITHIN: "within 10 %",
    AloneVerdict.DISCREPANCY: "discrepancies",
    AloneVerdict.EXCLUDED: "outside the model’s scope",
    AloneVerdict.NO_PORTS: "without ports in the reference",
    AloneVerdict.NOT_DESCRIBED: "not in the reference",
    AloneVerdict.NOT_SETTLED: "not settled",
    AloneVerdict.NOT_MEASURED: "not measurable here",
}


def model_check_context(request: HttpRequest, run: Run, record: object) -> dict[str, Any]:
    """The context of the results; the address may have the `length` of a heat map and the `show`n verdict."""
    check = model_check_of(run)
    reference = reference_of(run)
    summary = check.summary
    length = _length(request, check)
    figures = _figures(check, length) if run.config["reference"] is not None else {}
    return {
        "check": check,
        "counted": summary,
        "within_share": None if summary.share is None else 100 * summary.share,
        "short_share": None if summary.short_share is None else 100 * summary.short_share,
        "reference": reference,
        "model_figures": figures,
        "mixes_title": _title(length),
        "chosen_length": length,
        "mixes": page_cells(mixes_table(check.mixes, _length_with_map(request))),
        "orders": page_cells(orders_table(check.orders, (text("differs most"), _most_different))),
        "orders_set": ExperimentSet.objects.filter(run=run, source="orders").first(),
        **_schemes_context(request, run, check, reference),
    }


def _length_with_map(request: HttpRequest) -> Callable[[Json], LinkedNumber]:
    """Returns the cell of a length of mixes, with a link to its heat map if it has one."""

    def cell(of_length: Json) -> LinkedNumber:
        address = urlencode({**request.GET.dict(), "length": of_length["length"]})
        url = f"?{address}#model-mixes" if of_length["heat_map"] else ""
        return LinkedNumber(of_length["length"], url)

    return cell


def _most_different(of_length: Json) -> LinkedText:
    """The cell with the mix of a length that differs most between its orders; empty without one."""
    if not of_length["largest"] or not of_length["worst"]:
        return LinkedText("")
    mix, fastest, slowest = of_length["worst"][0]
    return LinkedText(f"{fastest:.3f} to {slowest:.3f} CPI", note=mix)


def _length(request: HttpRequest, check: ModelCheck) -> int | None:
    """The length whose heat map is shown: that in the address, else the last one with a map."""
    with_map = [mix["length"] for mix in check.mixes if mix["heat_map"]]
    requested = choice_parameter(request, "length", tuple(map(str, MIX_LENGTHS)))
    if requested:
        return int(requested)
    return with_map[-1] if with_map else None


def _title(length: int | None) -> str:
    if length is None:
        return "Mixes"
    return f"Mixes of {length} instruction{'' if length == 1 else 's'}"


def _figures(check: ModelCheck, length: int | None) -> Json:
    """{name: figure, scores and noun of a heat map}; maps without points are left out."""
    compared = [(e.measured, e.modelled) for e in check.alone if e.compared and e.measured is not None]
    short = [point for point in compared if point[0] <= SHORT_CYCLES_MAX]
    figures: Json = {}
    for name, points, on in (("short", short, "schemes of up to 3 cycles"), ("full", compared, "schemes")):
        if points:
            measured, modelled = zip(*points, strict=True)
            limit = SHORT_CYCLES_MAX if name == "short" else None
            figures[name] = {
                "figure": heat_map(measured, modelled, limit=limit).figure(),
                "scores": score(measured, modelled).as_json(),
                "on": on,
            }
    for point in check.mixes:
        if point["length"] == length and point["heat_map"]:
            mixes_figure = HeatMap.from_json(point["heat_map"]).figure(Unit.CPI)
            mixes_part = {"figure": mixes_figure, "scores": point["scores"], "on": "mixes"}
            figures["mixes"] = {**mixes_part, "title": _title(length)}
    return figures


def _schemes_context(
    request: HttpRequest, run: Run, check: ModelCheck, reference: PortMapping | None
) -> dict[str, Any]:
    """The context of a page of the schemes with a verdict, the largest errors first."""
    counts = check.summary.verdicts
    verdict = AloneVerdict(choice_parameter(request, "show", tuple(AloneVerdict), AloneVerdict.DISCREPANCY))
    q = request.GET.get("q", "").strip()
    context: dict[str, Any] = {
        "choices": [(name.value, words, counts[name]) for name, words in VERDICT_LABELS.items()],
        "show": verdict.value,
        "q": q,
    }
    try:
        schemes = checked_schemes(run, check, verdict, q)
    except SearchError as error:
        return {**context, "listing_error": str(error)}
    isa = ISA.objects.filter(name=run.config["isa"]).first()
    page = page_in_memory(schemes, number_parameter(request, "page", 0) or 0)
    return {**context, "page": page, **page_cells(_linked_schemes(page.rows, isa, reference))}


def _linked_schemes(
    alone: Sequence[AloneCheck], isa: ISA | None, reference: PortMapping | None
) -> PublishedTable:
    """The table of schemes, with links to their pages and the µops of the reference."""
    ids = {} if isa is None else ids_of_schemes(isa.pk, (scheme.scheme for scheme in alone))

    def linked(scheme: AloneCheck) -> LinkedText:
        pk = ids.get(scheme.scheme)
        return LinkedText(scheme.scheme, reverse("scheme", args=[pk]) if pk else "")

    if reference is None:
        return schemes_table(alone, scheme=linked)
    usages = usages_in(reference, ids.values())
    uops = usage("its µops there", reference.ports)
    return schemes_table(alone, (uops, lambda scheme: usages.get(ids.get(scheme.scheme, 0))), scheme=linked)


def run_csv(request: HttpRequest, pk: int, table: str) -> HttpResponse:
    run = get_object_or_404(Run, pk=pk, kind="check-model")
    content = csv_of(TABLES[table](model_check_of(run)))
    return table_answer(content, f"{run.name} {table}", check=run.name)


def check_description(run: Run) -> Iterator[DescriptionItem]:
    """The description of a run of kind `check-model`, item by item."""
    config = run.config
    yield DescriptionItem("Machine", links=links(Machine, "machine", [config["machine"]]))
    if config["reference"] is None:
        yield DescriptionItem("Reference", "none: 1/n cycles of a single µop")
    else:
        yield DescriptionItem("Reference", links=links(PortMapping, "mapping", [config["reference"]]))
    yield DescriptionItem("Instruction set", config["isa"])
    yield DescriptionItem("Schemes", schemes_text(config))
    yield DescriptionItem("Mixes", f"{config['mixes']:,} of each length" if config["mixes"] else "none")
    orders = f"{config['sequences']:,} mixes of each length in up to {config['permutations']} orders"
    yield DescriptionItem("Orders", orders if config["sequences"] else "none")
    yield DescriptionItem("Seed", str(config["seed"]))


PRESENTATIONS = {
    "check-model": KindPresentation(words=check_description, page=model_check_context, archived=archived)
}


class ReferenceField(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic as it runs
    """Port mappings by name, with their instruction set."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} ({obj.isa.name})"


class CheckForm(MeasuringForm):
    """The machine, schemes and stages of a check, and the reference."""

    request = CheckConfig
    machine = forms.ModelChoiceField(Machine.objects.none(), empty_label=None)
    reference = ReferenceField(
        PortMapping.objects.none(),
        required=False,
        empty_label="none: single instructions against 1/n cycles",
        help_text="Choose one not inferred on this machine: the documented ports, imported from uops.info.",
    )
    selection = selection_field(CheckConfig.default_of("schemes"))
    mixes = RequestField(
        label="Mixes of each length",
        paper="5,000",
        help_text="Of 2 to 6, 10, 15 and 20 schemes that are predicted within 10 % when alone; 0: none.",
        required=True,
    )
    sequences = RequestField(
        label="Mixes to reorder",
        paper="500",
        help_text="Of each length: 2, 4 … 20; 0 for none.",
        required=True,
    )
    permutations = RequestField(
        label="Orders of each", paper="10", help_text="Fewer if a mix has fewer orders.", required=True
    )
    seed = RequestField(
        help_text="Seed of the random choice: the same seed gives the same experiments.", required=True
    )

    def __init__(self, data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        self.set_choices(
            machine=machines().exclude(kind=Machine.Kind.PUBLISHED),
            reference=PortMapping.objects.select_related("isa").order_by("origin", "name"),
        )

    def clean(self) -> dict[str, Any]:
        """Check that machine and reference have the same instruction set."""
        data = super().clean()
        machine, reference = data.get("machine"), data.get("reference")
        if machine and reference and machine.isa_id != reference.isa_id:
            self.add_error("reference", f"It is for {reference.isa}, but the machine is for {machine.isa}.")
        return data


def check_model(request: HttpRequest) -> HttpResponse:
    machine = _machine(request)
    if machine is None:
        return render(request, _TEMPLATE)
    documented = documented_for(machine)
    return measuring_page(
        request,
        machine.pk,
        "check-model",
        _TEMPLATE,
        CheckForm,
        _plan,
        {"machine": machine.pk, "reference": documented and documented.pk},
    )


_TEMPLATE = "inference/findings/model_new.html"


def _machine(request: HttpRequest) -> Machine | None:
    """The machine in the form or the address, else the first that can measure, or any; None without
    machines."""
    number = posted_number(request, "machine") if request.POST else number_parameter(request, "machine")
    rows = sorted(
        machines().exclude(kind=Machine.Kind.PUBLISHED),
        key=lambda row: (row.pk != number, bool(obstacle_to_measuring(row))),
    )
    return next(iter(rows), None)


def _plan(machine: Machine, form: CheckForm, texts: list[tuple[int, str]]) -> MeasuringPlan:
    data = form.cleaned_data
    numbers = {name: data[name] for name in ("mixes", "sequences", "permutations")}
    config: Json = {
        "machine": machine.pk,
        "reference": data["reference"] and data["reference"].pk,
        **schemes_config(form, texts),
        **form.stated(),
    }
    return MeasuringPlan.of(machine, config, texts, check_effort(machine, len(texts), **numbers))


urlpatterns = [
    *[
        path(f"runs/<int:pk>/{table}.csv", run_csv, {"table": table}, name=f"run-{table}-csv")
        for table in TABLES
    ],
    path("check-model/", check_model, name="check-model"),
]
