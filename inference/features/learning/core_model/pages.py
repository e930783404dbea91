"""Pages of core models: the list, a CPU's home, creating one from parts, and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_POST

from inference.core.core_model import CoreOverview, UnitKind, kind_competition
from inference.features.learning.core_model.comparison import core_choices, core_label
from inference.features.learning.core_model.home import (
    competition_sentences,
    competition_table,
    contradictions,
    home_sections,
    limits_of,
)
from inference.features.learning.core_model.missing import (
    MEASURABLE_PARTS,
    missing_of,
    newest_part,
    start_config,
)
from inference.features.learning.core_model.query import (
    COLUMNS,
    CoreModelContents,
    compared_core,
    contents_of,
    core_models,
)
from inference.features.learning.core_model.storing import (
    name_ports,
    ports_of,
    proposed_names,
    store_document,
    store_parts,
)
from inference.features.learning.scheduler.query import CAVEAT, scheduler_view
from inference.features.library.gallery.query import RecordedCore
from inference.features.library.mappings.query import port_mappings
from inference.features.library.uploads.query import waiting_uploads
from inference.figures.core_diagram import core_drawing, latency_span
from inference.formats.core_model_json import PORT_NAME_LIMIT, CoreModelDocument
from inference.formats.problems import ExchangeError
from inference.isa.targets import names_with_blocks, target_of
from inference.models import LatencySet, Machine, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import port_labels, unsettled_kinds
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.storage.names import NAME_LIMIT, free_name, processor_name, result_name
from inference.web.contributions import Context, PagePanel, PanelPlace, rendered_panels
from inference.web.file_answers import attachment
from inference.web.listed_mappings import ListedMapping, listed_mappings
from inference.web.naming import naming_paths
from inference.web.paging import list_page
from inference.web.request_fields import NOT_STARTED, StrictForm, start_run
from inference.web.validation import RequestError, choice_parameter


def core_models_page(request: HttpRequest) -> HttpResponse:
    """Lists core models, newest first, filtered by name or note."""
    return list_page(
        request,
        "inference/core_model/list.html",
        core_models,
        COLUMNS,
        "-created",
        lambda page: {
            "rows": list(
                zip(
                    page.rows,
                    contents_of(page.rows),
                    map(core_label, page.rows),
                    _listed_ports(page.rows),
                    strict=True,
                )
            )
        },
    )


def _listed_ports(rows: Sequence[StoredCoreModel]) -> list[ListedMapping | None]:
    """The port mappings of core models with what judges them; None without one (two queries)."""
    mappings = port_mappings().filter(pk__in=[row.mapping_id for row in rows if row.mapping_id])
    by_id = {listed.mapping.pk: listed for listed in listed_mappings(mappings)}
    return [None if row.mapping_id is None else by_id.get(row.mapping_id) for row in rows]


@dataclass(frozen=True)
class KindRow:
    """A kind of instructions in the table.

    Attributes:
        chips: Index, label and own name of its ports.
        unsettled: Number of its schemes that another result of the machine contradicts.
    """

    kind: UnitKind
    chips: tuple[tuple[int, str, str], ...]
    latency: str
    unsettled: int


def _kind_rows(kinds: Sequence[UnitKind], row: StoredCoreModel, labels: Mapping[str, str]) -> list[KindRow]:
    unsettled = unsettled_kinds(row)
    ports = ports_of(row)
    return [
        KindRow(
            kind,
            tuple((ports.index(port), labels.get(port, port), port) for port in kind.ports),
            "" if kind.latencies is None else latency_span(kind.latencies),
            unsettled[kind.name],
        )
        for kind in kinds
    ]


def core_model(request: HttpRequest, pk: int) -> HttpResponse:
    """A core model: how good it is, what it is, what it lacks, and actions."""
    row = get_object_or_404(core_models(), pk=pk)
    (contents,) = contents_of([row])
    return render(request, "inference/core_model/core_model.html", home_context(request, row, contents))


def home_context(
    request: HttpRequest,
    row: StoredCoreModel,
    contents: CoreModelContents,
    recorded: RecordedCore | None = None,
) -> dict[str, Any]:
    """The context of a core model's page; `recorded`: the core of the gallery that `row`, unsaved, is."""
    core = compared_core(row)
    overview, labels = core.overview, port_labels(row)
    kinds = _kind_rows(overview.kinds, row, labels)
    competition = kind_competition(overview)
    missing = missing_of(row, contents, "" if recorded is None else recorded.lacks)
    against = contradictions(row)
    return {
        "row": row,
        "recorded": recorded,
        "label": core_label(row),
        "panels": rendered_panels(request, PanelPlace.CORE_MODEL, row),
        "limits": limits_of(contents, missing, against),
        "diagram": _drawings(overview, labels) if overview.ports else None,
        "kinds": kinds,
        "competition": competition_table(competition, labels),
        "competing": competition_sentences(competition),
        "sections": home_sections(row, core),
        "scheduler": scheduler_view(row),
        "caveat": CAVEAT,
        "missing": missing,
        "contradictions": against,
        "contents": contents,
        "exports": {
            name: export
            for name, export in CORE_MODEL_EXPORTS.items()
            if recorded is None and export.describes(row.isa.name)
        },
        "choices": core_choices(row),
        "asks_blocks": target_of(row.isa.name).blocks is not None,
    }


def _drawings(overview: CoreOverview, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """The diagram for wide and for narrow pages; CSS shows one."""
    texts = [
        (name, core_drawing(overview, labels, narrow=narrow).inline())
        for name, narrow in (("wide", False), ("narrow", True))
    ]
    return [(name, mark_safe(text)) for name, text in texts]  # noqa: S308  what is in it was escaped


@require_POST
def measure_missing(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the run that measures a missing part, or take the part that the machine has already."""
    row = get_object_or_404(core_models(), pk=pk)
    part = request.POST.get("part", "")
    if part not in MEASURABLE_PARTS or row.machine is None or row.document is not None:
        raise RequestError(
            "part", f"nothing can be measured of {row.name}: {part[:40]!r}", ", ".join(MEASURABLE_PARTS)
        )
    contents = contents_of([row])[0]
    stored = newest_part(row.machine, part) if part.replace("-", " ") in contents.lacking else None
    if stored is not None:
        setattr(row, part.replace("-", "_"), stored)
        row.save(update_fields=[part.replace("-", "_")])
        messages.success(request, f"{stored.name} is part of this core model now.")
        return redirect("core-model", pk)
    run = start_run(request, *start_config(row, part), lead=NOT_STARTED)
    return redirect("core-model", pk) if run is None else redirect("run", run.pk)


class CoreModelForm(StrictForm):
    """A name, and at least one part."""

    name = forms.CharField(max_length=NAME_LIMIT)
    mapping = forms.ModelChoiceField(PortMapping.objects.none(), required=False, label="Ports and slots")
    latencies = forms.ModelChoiceField(LatencySet.objects.none(), required=False)
    front_end = forms.ModelChoiceField(MeasuredFrontEnd.objects.none(), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = {
            "mapping": PortMapping.objects.filter(isa__name__in=names_with_blocks()),
            "latencies": LatencySet.objects.filter(isa__name__in=names_with_blocks()).defer("readings"),
            "front_end": MeasuredFrontEnd.objects.filter(isa__name__in=names_with_blocks()),
        }
        for field, queryset in rows.items():
            choice = self.fields[field]
            assert isinstance(choice, forms.ModelChoiceField)
            choice.queryset = queryset.order_by("-pk")
            choice.empty_label = "none"
            self.initial.setdefault(field, queryset.order_by("-pk").values_list("pk", flat=True).first())
        self.initial.setdefault("name", free_name(StoredCoreModel, self._default_name()))

    def _default_name(self) -> str:
        """Named by the machine of the preselected mapping, if there is one."""
        newest = PortMapping.objects.filter(pk=self.initial["mapping"], machine__isnull=False).first()
        machine = None if newest is None else newest.machine_id
        return "core model" if machine is None else result_name(processor_name(machine), "core model")


def core_model_new(request: HttpRequest) -> HttpResponse:
    """The form for a core model of existing parts; the newest are preselected."""
    form = CoreModelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = store_parts(**form.cleaned_data)
        except ExchangeError as error:
            form.add_error(None, str(error))
        else:
            return redirect("core-model", row.pk)
    status = 400 if request.method == "POST" else 200
    return render(request, "inference/core_model/new.html", {"form": form}, status=status)


class PortNamesForm(StrictForm):
    def __init__(self, row: StoredCoreModel, names: Mapping[str, str], data: object = None) -> None:
        super().__init__(data)  # type: ignore[arg-type]
        self.of = {f"port_{place}": port for place, port in enumerate(ports_of(row))}
        labels = port_labels(row)
        kinds = {
            port.name: ", ".join(
                on_port.kind.name for on_port in sorted(port.kinds, key=lambda on_port: not on_port.most)[:8]
            )
            for port in compared_core(row).overview.ports
        }
        self.idle = {field for field, port in self.of.items() if not kinds.get(port)}
        for field, port in self.of.items():
            self.fields[field] = forms.CharField(
                max_length=PORT_NAME_LIMIT,
                required=False,
                label=f"Port {port}",
                initial=names.get(port, ""),
                help_text=kinds.get(port, ""),
                widget=forms.TextInput(
                    attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": labels.get(port, "")}
                ),
            )

    def fields_in_use(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in self.idle]

    def idle_fields(self) -> list[forms.BoundField]:
        """The fields of ports that no described kind of instruction needs."""
        return [field for field in self.visible_fields() if field.name in self.idle]

    def names(self) -> dict[str, str]:
        return {port: self.cleaned_data[field] for field, port in self.of.items()}


def core_model_ports(request: HttpRequest, pk: int) -> HttpResponse:
    """The form for the vendor's names; proposes those of another model of the machine."""
    row = get_object_or_404(core_models(), pk=pk)
    proposed = None if row.port_names or request.method == "POST" else proposed_names(row)
    names = row.port_names if proposed is None else proposed.names
    form = PortNamesForm(row, names, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            name_ports(row, form.names())
        except ExchangeError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Saved.")
            return redirect("core-model", pk)
    context = {"row": row, "form": form, "proposed": proposed, "ports": len(form.of)}
    status = 400 if form.is_bound else 200
    return render(request, "inference/core_model/ports.html", context, status=status)


def core_model_export(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(core_models(), pk=pk)
    formats = tuple(CORE_MODEL_EXPORTS)
    export = CORE_MODEL_EXPORTS[choice_parameter(request, "format", formats, formats[0])]
    try:
        text = export.write(row)
    except ExchangeError as error:
        messages.error(request, f"{error}.")
        return redirect("core-model", pk)
    return attachment(text, export.content_type, row.name, export.extension)


def upload_core_model(request: HttpRequest, pk: int) -> HttpResponse:
    """A preview of an uploaded file; a POST stores it."""
    upload = get_object_or_404(waiting_uploads(), pk=pk)
    if upload.preview is None or upload.preview.get("page") != "upload-core-model":
        return redirect("upload-preview", pk)
    summary = upload.preview["seen"]
    error = ""
    if request.method == "POST":
        try:
            with transaction.atomic():
                document = CoreModelDocument.model_validate(summary["document"])
                row = store_document(document, request.POST.get("name", "").strip()[:NAME_LIMIT])
                upload.delete()
        except ExchangeError as problem:
            error = str(problem)
        else:
            return redirect("core-model", row.pk)
    context = {
        "upload": upload,
        "seen": summary,
        "name": free_name(StoredCoreModel, summary["name"] or "core model"),
        "error": error,
    }
    return render(request, "inference/core_model/upload.html", context, status=400 if error else 200)


urlpatterns = [
    path("core-models/", core_models_page, name="core-models"),
    path("core-models/new/", core_model_new, name="core-model-new"),
    path("core-models/<int:pk>/", core_model, name="core-model"),
    path("core-models/<int:pk>/measure/", measure_missing, name="core-model-measure"),
    path("core-models/<int:pk>/export/", core_model_export, name="core-model-export"),
    path("core-models/<int:pk>/ports/", core_model_ports, name="core-model-ports"),
    *naming_paths(StoredCoreModel, "core-model", "core-models"),
    path("uploads/<int:pk>/core-model/", upload_core_model, name="upload-core-model"),
]

_NEWEST = 6


def _of_machine(_request: HttpRequest, machine: Machine) -> Context | None:
    models = list(core_models().filter(machine=machine)[:_NEWEST])
    return {"core_models": list(zip(models, _listed_ports(models), strict=True))} if models else None


PANELS = (PagePanel(PanelPlace.MACHINE, "core", "Core", "inference/core_model/of_machine.html", _of_machine),)
