"""Pages for uploading, previewing and importing files; a run makes each preview."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_POST

from inference.core.protocols import Json
from inference.features.library.uploads.job import LEAVE_OUT, STOP, ImportConfig, outcomes
from inference.features.library.uploads.query import (
    MODELS,
    readable_formats,
    receive,
    start_reading,
    waiting_uploads,
)
from inference.features.running.runs.archive import archived_rows
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.formats.file_numbers import FileUnit
from inference.formats.problems import ExchangeError
from inference.formats.uops_info_xml import BEGINNING, XML_PEEK
from inference.isa.microarchitecture import TOOL_NAMES
from inference.models import ISA, ExperimentSet, PortMapping, Run, Upload
from inference.runs import lifecycle
from inference.runs.errors import ConfigError, LimitError, RunsError
from inference.runs.lifecycle import submit
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.request_fields import RequestField, RequestForm, SetsField, note_field, validated_name
from inference.web.validation import parse_int

NEW = "new"
ALL_REJECTS, NO_REJECTS = "all", "none"
NEAREST = "nearest"
"""The choice that replaces every unknown name by the nearest scheme."""
ARROW = " → "
"""Separates a name of the file from its substitute in form values."""
_MAX_SUBSTITUTES = 200
_BOUNDS = 50  # newest port mappings offered for checking numbers
EVIDENCE_SIZE = 2000  # measurements; a search for the ports of blocking instructions takes some dozens


class ImportForm(RequestForm):
    """The form of an import: names of the result and of a new instruction set, and further parts."""

    request = ImportConfig
    new_isa = RequestField(
        label="Name of the new instruction set",
        help_text="It gets the scheme names of this file.",
        required=True,
    )
    name = forms.CharField(max_length=NAME_LIMIT, help_text="Commands and pages refer to it by this name.")
    note = note_field()
    core = forms.ChoiceField(
        required=False,
        label="Measured on",
        choices=[("", "not known"), *((name, name) for name in TOOL_NAMES)],
        help_text="Errors are judged only where mapping and measurements may be of the same core.",
    )
    others = forms.MultipleChoiceField(
        required=False,
        label="Also import from this file",
        help_text="Each becomes a separate mapping or set, under the name that the file proposes.",
        widget=forms.CheckboxSelectMultiple,
    )
    evidence = SetsField(
        ExperimentSet.objects.none(),
        required=False,
        label="Measured by the same runs",
        help_text="Experiment sets that show the ports of the blocking instructions.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, content: Json, data: object = None) -> None:
        self.model = MODELS[content["kind"]]
        proposed = {"name": free_name(self.model, content["own_name"]), "new_isa": content["new_isa"]}
        proposed["core"] = content.get("core", "")
        super().__init__(proposed if data is AS_PROPOSED else data, initial=proposed)  # type: ignore[arg-type]
        if content["isa"] is not None:
            del self.fields["new_isa"]
        names = [name for name in content["microarchitectures"] if name != content["microarchitecture"]]
        if names and content["isa"] is not None:
            self.set_choices(others=[(name, name) for name in names])
        else:
            del self.fields["others"]
        sets = _possible_evidence(content["isa"]) if content["explained"] else ExperimentSet.objects.none()
        if sets.exists():
            self.set_choices(evidence=sets)
        else:
            del self.fields["evidence"]

    def clean_name(self) -> str:
        return validated_name(self.model, self.cleaned_data["name"])

    def clean_new_isa(self) -> str:
        """Refuse a name in use."""
        return validated_name(ISA, self.cleaned_data["new_isa"])


AS_PROPOSED = object()
"""In place of form data: the proposed values."""


def _possible_evidence(isa: int | None) -> QuerySet[ExperimentSet]:
    """Small sets of the instruction set, newest first."""
    sized = ExperimentSet.objects.filter(isa=isa).annotate(size=Count("measurements"))
    return sized.filter(size__lte=EVIDENCE_SIZE).order_by("-id")


def upload(request: HttpRequest) -> HttpResponse:
    """The form for uploading files, and the waiting files."""
    error = ""
    if request.method == "POST":
        files = request.FILES.getlist("files")
        error = _files_error(files)
        if not error:
            try:
                uploads = receive(files, request.user)
            except (ExchangeError, LimitError) as problem:
                error = str(problem)
            else:
                return redirect("upload-preview", uploads[0].pk) if len(uploads) == 1 else redirect("upload")
    waiting = waiting_uploads().select_related("reading")
    context = {
        "error": error,
        "waiting": waiting,
        "reading": any(row.reading and row.reading.state not in Run.FINAL for row in waiting),
        "limit": settings.UPLOAD_LIMIT_BYTES,
        "formats": readable_formats(),
    }
    return render(request, "inference/uploads/upload.html", context, status=400 if error else 200)


def _files_error(files: list[UploadedFile[bytes]]) -> str:
    if not files:
        return "Choose one or more files."
    limit = settings.UPLOAD_LIMIT_BYTES
    for file in files:
        beginning = file.read(XML_PEEK)
        file.seek(0)
        if (file.size or 0) > limit and not BEGINNING.match(beginning):
            return f"{file.name} has {(file.size or 0) >> 20} MiB; a file can have at most {limit >> 20} MiB."
    return ""


def upload_preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The preview of a file; a POST starts its import."""
    row = get_object_or_404(waiting_uploads().select_related("reading"), pk=pk)
    content: Json | None = row.preview
    if content is None:
        working = row.reading is not None and row.reading.state not in Run.FINAL
        return render(request, "inference/uploads/reading.html", {"upload": row, "working": working})
    if "page" in content:
        return redirect(content["page"], pk)
    form = ImportForm(content, request.POST or None) if content["acceptable"] else None
    if form is not None and form.is_bound and form.is_valid():
        try:
            return _redirect_to_run(request, _start(request, row, content, form.cleaned_data))
        except RunsError as error:
            form.add_error(None, str(error))
    context = {
        "upload": row,
        "seen": content,
        "asked": row.reading.config if row.reading else {},
        "form": form,
        "units": [(choice.value, choice.label) for choice in FileUnit],
        "unit": content["unit"] or FileUnit.CYCLES.value,
        "leave_out": LEAVE_OUT,
        "stop": STOP,
        "arrow": ARROW,
        "bounds": PortMapping.objects.filter(isa=content["isa"]).defer("report").order_by("-id")[:_BOUNDS],
        "isas": ISA.objects.order_by("name"),
        "new_isa": NEW,
        "waiting_count": waiting_uploads().count(),
    }
    return render(
        request, "inference/uploads/preview.html", context, status=400 if request.method == "POST" else 200
    )


@require_POST
def upload_read(request: HttpRequest, pk: int) -> HttpResponse:
    """Makes a new preview with the options of the form."""
    row = get_object_or_404(waiting_uploads(), pk=pk)
    try:
        start_reading(row, request.user, **_choices(request, row))
    except (ExchangeError, RunsError) as error:
        messages.error(request, f"{row.file_name} was not read again: {error}")
    return redirect("upload-preview", pk)


def _choices(request: HttpRequest, row: Upload) -> Json:
    """The options of a form as fields of `ReadConfig`. Raises `BadRequest` for invalid values."""
    post = request.POST
    substitutes = [pair for pair in post.getlist("taken") if pair]
    if len(substitutes) > _MAX_SUBSTITUTES:
        raise BadRequest(f"at most {_MAX_SUBSTITUTES} names can be replaced, not {len(substitutes)}")
    pairs = [pair.partition(ARROW) for pair in substitutes]
    if not all(arrow for _, arrow, _ in pairs):
        raise BadRequest("taken must be a name, an arrow and a scheme")
    isa, names, rejects, ports = (post.get(field, "") for field in ("isa", "names", "rejects", "ports"))
    new = isa == NEW
    take = post.get("take", "")
    return {
        "isa": _name_of(ISA, isa, "isa") if isa and not new else "",
        "new_isa": free_name(ISA, PurePath(row.file_name).stem or "instruction set") if new else "",
        "unit": post.get("unit", ""),
        "broken": post.get("broken") or STOP,
        "microarchitecture": post.get("microarchitecture", "").strip() or None,
        "taken": {} if new or take else {name: text for name, _, text in pairs},
        "take_nearest": take == NEAREST and not new,
        "ports": _name_of(PortMapping, ports, "ports") if ports else "",
        "names": parse_int(names, "names") if names else None,
        "rejects": _rejects(rejects),
    }


def _name_of(model: type[ISA | PortMapping], text: str, field: str) -> str:
    return str(get_object_or_404(model, pk=parse_int(text, field)).name)


def _rejects(text: str) -> list[int] | None:
    """The selected lists of rejects; None for all waiting ones."""
    if text in ("", ALL_REJECTS):
        return None
    return [] if text == NO_REJECTS else [parse_int(text, "rejects")]


def _start(request: HttpRequest, upload_row: Upload, content: Json, answers: dict[str, Any]) -> Run:
    config = {**content["import"], "upload": upload_row.pk, "name": answers["name"], "note": answers["note"]}
    if answers.get("new_isa"):
        config["new_isa"] = answers["new_isa"]
    if answers.get("core"):
        config["core"] = answers["core"]
    if answers.get("others"):
        config["others"] = answers["others"]
    if answers.get("evidence"):
        config["evidence"] = [row.name for row in answers["evidence"]]
    return lifecycle.submit("import", config, user=request.user)


def _redirect_to_run(request: HttpRequest, run: Run) -> HttpResponse:
    """Redirects to the run, with a message about further waiting files."""
    waiting = waiting_uploads().count()
    if waiting:
        waits = "file waits" if waiting == 1 else "files wait"
        messages.info(
            request,
            format_html('<a href="{}">{} more {}</a> for confirmation.', reverse("upload"), waiting, waits),
        )
    return redirect("run", run.pk)


@require_POST
def upload_import_all(request: HttpRequest) -> HttpResponse:
    """Imports every waiting file without problems, under its proposed name."""
    started: list[Run] = []
    unclear: list[str] = []
    used_names: set[tuple[str, str]] = set()
    for row in waiting_uploads():
        content: Json = row.preview or {}
        if not content.get("acceptable"):
            unclear.append(row.file_name)
            continue
        form = ImportForm(content, AS_PROPOSED)
        key = (content["kind"], form.initial["name"])
        if key not in used_names and form.is_valid():
            used_names.add(key)
            started.append(_start(request, row, content, form.cleaned_data))
        else:
            unclear.append(row.file_name)
    if started:
        links = format_html_join(
            ", ", '<a href="{}">{}</a>', ((reverse("run", args=[run.pk]), run.name) for run in started)
        )
        plural = "" if len(started) == 1 else "s"
        messages.success(request, format_html("{} import{} queued: {}", len(started), plural, links))
    if unclear:
        messages.warning(request, f"Check these files first: {', '.join(unclear)}")
    return redirect("upload" if unclear or not started else "runs")


@require_POST
def upload_discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes a file that has not been imported."""
    row = get_object_or_404(waiting_uploads(), pk=pk)
    row.delete()
    messages.success(request, f"{row.file_name} was discarded.")
    return redirect("upload")


def upload_run(request: HttpRequest, pk: int) -> HttpResponse:
    """The preview of a run's zip; a POST starts its import."""
    row = get_object_or_404(waiting_uploads(), pk=pk)
    if row.preview is None or row.preview.get("page") != "upload-run":
        return redirect("upload-preview", pk)
    error = ""
    if request.method == "POST":
        try:
            return redirect("run", submit("import", {"upload": row.pk}, user=request.user).pk)
        except ConfigError as problem:
            error = str(problem)
    context = {"upload": row, "archive": row.preview["seen"], "error": error}
    status = 400 if request.method == "POST" else 200
    return render(request, "inference/uploads/run.html", context, status=status)


urlpatterns = [
    path("sets/upload/", upload, name="upload"),
    path("sets/upload/import/", upload_import_all, name="upload-import-all"),
    path("uploads/<int:pk>/", upload_preview, name="upload-preview"),
    path("uploads/<int:pk>/read/", upload_read, name="upload-read"),
    path("uploads/<int:pk>/discard/", upload_discard, name="upload-discard"),
    path("uploads/<int:pk>/run/", upload_run, name="upload-run"),
]

PRESENTATIONS = {
    "read": KindPresentation(outcomes=outcomes),
    "import": KindPresentation(archived=archived_rows),
}
