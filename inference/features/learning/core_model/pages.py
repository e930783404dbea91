"""Pages of core models: the list, a model with its parts, creating one from parts, and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.safestring import mark_safe

from inference.core.core_model import CoreOverview, UnitKind
from inference.features.learning.core_model.comparison import core_label
from inference.features.learning.core_model.query import (
    COLUMNS,
    CoreModelContents,
    cached_overview,
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
from inference.features.library.uploads.query import waiting_uploads
from inference.figures.core_diagram import core_drawing, latency_span
from inference.formats.core_model_json import PORT_NAME_LIMIT, CoreModelDocument
from inference.formats.problems import ExchangeError
from inference.isa.targets import names_with_blocks, target_of
from inference.models import LatencySet, MeasuredFrontEnd, PortMapping, StoredCoreModel
from inference.storage.core_models import unsettled_kinds
from inference.storage.exporting import CORE_MODEL_EXPORTS
from inference.storage.names import NAME_LIMIT, free_name
from inference.storage.result_names import processor_name, result_name
from inference.web.file_answers import attachment
from inference.web.naming import naming_paths
from inference.web.paging import list_page
from inference.web.request_fields import StrictForm
from inference.web.validation import choice_parameter


def core_models_page(request: HttpRequest) -> HttpResponse:
    """Lists core models, newest first, filtered by name or note."""
    return list_page(
        request,
        "inference/core_model/list.html",
        core_models,
        COLUMNS,
        "-created",
        lambda page: {"rows": list(zip(page.rows, contents_of(page.rows), strict=True))},
    )


@dataclass(frozen=True)
class CoreModelPart:
    """A part of a core model: its source, its content as text, and the bounds that follow from it."""

    label: str
    name: str
    url: str
    there: bool
    has: str
    bounds: str


def _parts(row: StoredCoreModel, contents: CoreModelContents) -> list[CoreModelPart]:
    def part(label: str, source: Any, url_name: str, has: str, missing: str, bounds: str) -> CoreModelPart:
        name = contents.sources.get(label.lower(), "")
        url = "" if source is None else reverse(url_name, args=[source.pk])
        return CoreModelPart(label, name, url, bool(has), has or missing, bounds)

    described = f"{contents.described:,} schemes with µops" if contents.described else ""
    timed = f"{contents.with_latencies:,} schemes, idioms, forwarding" if contents.with_latencies else ""
    front = "loops and straight code" if contents.has_front_end else ""
    unknown = "not measured"
    return [
        part("Ports and slots", row.mapping, "mapping", described, unknown, "ports, slots, instructions"),
        part(
            "Latencies",
            row.latencies,
            "latency-set",
            timed,
            "No latencies measured; assuming 1 cycle",
            "dependencies, memory",
        ),
        part("Front end", row.front_end, "front-end", front, unknown, "front end"),
    ]


def _drawings(overview: CoreOverview, row: StoredCoreModel) -> list[tuple[str, str]]:
    """The diagram for wide and for narrow pages; CSS shows one."""
    texts = [
        (name, core_drawing(overview, row.port_names, narrow=narrow).inline())
        for name, narrow in (("wide", False), ("narrow", True))
    ]
    return [(name, mark_safe(text)) for name, text in texts]  # noqa: S308  what is in it was escaped


@dataclass(frozen=True)
class KindRow:
    """A kind of instructions in the table. `chips`: index, name and the vendor's name of its ports.

    `unsettled`: number of its schemes that another result of the machine contradicts.
    """

    kind: UnitKind
    chips: tuple[tuple[int, str, str], ...]
    latency: str
    unsettled: int


def _kind_rows(kinds: Sequence[UnitKind], row: StoredCoreModel) -> list[KindRow]:
    unsettled = unsettled_kinds(row)
    return [_kind_row(kind, row, unsettled[kind.name]) for kind in kinds]


def _kind_row(kind: UnitKind, row: StoredCoreModel, unsettled: int) -> KindRow:
    ports = ports_of(row)
    return KindRow(
        kind,
        tuple((ports.index(port), port, row.port_names.get(port, "")) for port in kind.ports),
        "" if kind.latencies is None else latency_span(kind.latencies),
        unsettled,
    )


def core_model(request: HttpRequest, pk: int) -> HttpResponse:
    """A core model: its parts, missing parts, and actions."""
    row = get_object_or_404(core_models(), pk=pk)
    (contents,) = contents_of([row])
    overview = cached_overview(row)
    kinds = _kind_rows(overview.kinds, row)
    context = {
        "row": row,
        "label": core_label(row),
        "diagram": _drawings(overview, row) if overview.ports else None,
        "kinds": kinds,
        "unsettled": sum(kind.unsettled for kind in kinds),
        "contents": contents,
        "parts": _parts(row, contents),
        "scheduler": scheduler_view(row),
        "caveat": CAVEAT,
        "exports": {
            name: export for name, export in CORE_MODEL_EXPORTS.items() if export.describes(row.isa.name)
        },
        "asks_blocks": target_of(row.isa.name).blocks is not None,
    }
    return render(request, "inference/core_model/core_model.html", context)


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
        for field, port in self.of.items():
            self.fields[field] = forms.CharField(
                max_length=PORT_NAME_LIMIT,
                required=False,
                label=f"Port {port}",
                initial=names.get(port, ""),
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )

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
    known = tuple(CORE_MODEL_EXPORTS)
    export = CORE_MODEL_EXPORTS[choice_parameter(request, "format", known, known[0])]
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
    path("core-models/<int:pk>/export/", core_model_export, name="core-model-export"),
    path("core-models/<int:pk>/ports/", core_model_ports, name="core-model-ports"),
    *naming_paths(StoredCoreModel, "core-model", "core-models"),
    path("uploads/<int:pk>/core-model/", upload_core_model, name="upload-core-model"),
]
