"""Upload, preview and import of files: a run reads each, its page shows what was found and what to decide."""

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
from inference.features.library.uploads.job import LEAVE_OUT, STOP, ImportConfig
from inference.features.library.uploads.query import MODELS, receive, start_reading, waiting_uploads
from inference.formats.errors import ExchangeError
from inference.formats.file_units import FileUnit
from inference.formats.uops_info_xml import BEGINNING, XML_PEEK
from inference.models import ISA, ExperimentSet, PortMapping, Run, Upload
from inference.runs import lifecycle
from inference.runs.errors import ConfigError, LimitError, RunsError
from inference.runs.lifecycle import submit, unused_name
from inference.storage.names import NAME_LIMIT, free_name
from inference.web.naming import usable_name
from inference.web.request_fields import RequestField, RequestForm, SetsField, note_field
from inference.web.validation import as_whole_number

NEW = "new"
ALL_REJECTS, NO_REJECTS = "all", "none"
NEAREST = "nearest"
"""Every unknown name is taken for the scheme that comes nearest."""
ARROW = " → "
"""Between a name of the file and the scheme that it is taken for, in the form."""
_MOST_TAKEN = 200
_BOUNDS = 50  # port mappings to hold numbers against that the preview offers
EVIDENCE_SIZE = 2000  # measurements; a search for the ports of blocking instructions takes some dozens


class ImportForm(RequestForm):
    """What an import is told: the name, and for a new instruction set that one's name too."""

    request = ImportConfig
    new_isa = RequestField(
        label="Name of the new instruction set",
        help_text="Made from the scheme names in this file.",
        required=True,
    )
    name = forms.CharField(max_length=NAME_LIMIT, help_text="Commands and other pages find it by this name.")
    note = note_field()
    others = forms.MultipleChoiceField(
        required=False,
        label="Of the same file, import also",
        help_text="Each becomes a mapping or a set of its own, under the name the file proposes.",
        widget=forms.CheckboxSelectMultiple,
    )
    evidence = SetsField(
        ExperimentSet.objects.none(),
        required=False,
        label="Measured by the same runs",
        help_text="Experiment sets that show the ports of the blocking instructions.",
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, seen: Json, data: object = None) -> None:
        self.model = MODELS[seen["kind"]]
        usual = {"name": free_name(self.model, seen["own_name"]), "new_isa": seen["new_isa"]}
        super().__init__(usual if data is AS_PROPOSED else data, initial=usual)  # type: ignore[arg-type]
        if seen["isa"] is not None:
            del self.fields["new_isa"]
        others = [each for each in seen["microarchitectures"] if each != seen["microarchitecture"]]
        if others and seen["isa"] is not None:
            self.set_choices(others=[(each, each) for each in others])
        else:
            del self.fields["others"]
        sets = _possible_evidence(seen["isa"]) if seen["explained"] else ExperimentSet.objects.none()
        if sets.exists():
            self.set_choices(evidence=sets)
        else:
            del self.fields["evidence"]

    def clean_name(self) -> str:
        """Refuse a name in use."""
        return usable_name(self.model, self.cleaned_data["name"])

    def clean_new_isa(self) -> str:
        """Refuse a name in use."""
        return usable_name(ISA, self.cleaned_data["new_isa"])


AS_PROPOSED = object()
"""Instead of what somebody has filled in."""


def _possible_evidence(isa: int | None) -> QuerySet[ExperimentSet]:
    """Small sets of the instruction set, the newest first."""
    sized = ExperimentSet.objects.filter(isa=isa).annotate(size=Count("measurements"))
    return sized.filter(size__lte=EVIDENCE_SIZE).order_by("-id")


def upload(request: HttpRequest) -> HttpResponse:
    """The form for files, and those that wait for a decision."""
    error = ""
    if request.method == "POST":
        files = request.FILES.getlist("files")
        error = _refusal(files)
        if not error:
            try:
                kept = receive(files, request.user)
            except (ExchangeError, LimitError) as problem:
                error = str(problem)
            else:
                return redirect("upload-preview", kept[0].pk) if len(kept) == 1 else redirect("upload")
    waiting = waiting_uploads().select_related("reading")
    context = {
        "error": error,
        "waiting": waiting,
        "reading": any(each.reading and each.reading.state not in Run.FINAL for each in waiting),
        "limit": settings.UPLOAD_LIMIT_BYTES,
    }
    return render(request, "inference/uploads/upload.html", context, status=400 if error else 200)


def _refusal(files: list[UploadedFile[bytes]]) -> str:
    if not files:
        return "No file was chosen. Choose one or more CSV, JSON or XML files."
    limit = settings.UPLOAD_LIMIT_BYTES
    for file in files:
        beginning = file.read(XML_PEEK)
        file.seek(0)
        if (file.size or 0) > limit and not BEGINNING.match(beginning):
            return f"{file.name} has {(file.size or 0) >> 20} MiB; a file can have at most {limit >> 20} MiB."
    return ""


def upload_preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import."""
    found = get_object_or_404(waiting_uploads().select_related("reading"), pk=pk)
    seen: Json | None = found.preview
    if seen is None:
        working = found.reading is not None and found.reading.state not in Run.FINAL
        return render(request, "inference/uploads/reading.html", {"upload": found, "working": working})
    if "page" in seen:
        return redirect(seen["page"], pk)
    form = ImportForm(seen, request.POST or None) if seen["acceptable"] else None
    if form is not None and form.is_bound and form.is_valid():
        try:
            return _onward(request, _start(request, found, seen, form.cleaned_data))
        except RunsError as error:
            form.add_error(None, str(error))
    context = {
        "upload": found,
        "seen": seen,
        "asked": found.reading.config if found.reading else {},
        "form": form,
        "units": [(choice.value, choice.label) for choice in FileUnit],
        "unit": seen["unit"] or FileUnit.CYCLES.value,
        "leave_out": LEAVE_OUT,
        "stop": STOP,
        "arrow": ARROW,
        "bounds": PortMapping.objects.filter(isa=seen["isa"]).defer("report").order_by("-id")[:_BOUNDS],
        "isas": ISA.objects.order_by("name"),
        "new_isa": NEW,
        "waiting_count": waiting_uploads().count(),
    }
    return render(
        request, "inference/uploads/preview.html", context, status=400 if request.method == "POST" else 200
    )


@require_POST
def upload_read(request: HttpRequest, pk: int) -> HttpResponse:
    """Read a file again, in the way that the form of its preview asks for."""
    found = get_object_or_404(waiting_uploads(), pk=pk)
    try:
        start_reading(found, request.user, **_choices(request, found))
    except (ExchangeError, RunsError) as error:
        messages.error(request, f"{found.file_name} was not read again: {error}")
    return redirect("upload-preview", pk)


def _choices(request: HttpRequest, found: Upload) -> Json:
    """What a form says about the reading of a file. Raises `BadRequest` for what no choice can be."""
    given = request.POST
    taken = [each for each in given.getlist("taken") if each]
    if len(taken) > _MOST_TAKEN:
        raise BadRequest(f"at most {_MOST_TAKEN} names can be taken one by one, not {len(taken)}")
    pairs = [each.partition(ARROW) for each in taken]
    if not all(arrow for _, arrow, _ in pairs):
        raise BadRequest("taken must be a name, an arrow and a scheme")
    isa, names, rejects, ports = (given.get(field, "") for field in ("isa", "names", "rejects", "ports"))
    new = isa == NEW
    take = given.get("take", "")
    return {
        "isa": _name_of(ISA, isa, "isa") if isa and not new else "",
        "new_isa": free_name(ISA, PurePath(found.file_name).stem or "instruction set") if new else "",
        "unit": given.get("unit", ""),
        "broken": given.get("broken") or STOP,
        "microarchitecture": given.get("microarchitecture", "").strip() or None,
        "taken": {} if new or take else {name: text for name, _, text in pairs},
        "take_nearest": take == NEAREST and not new,
        "ports": _name_of(PortMapping, ports, "ports") if ports else "",
        "names": as_whole_number(names, "names") if names else None,
        "rejects": _rejects(rejects),
    }


def _name_of(model: type[ISA | PortMapping], given: str, field: str) -> str:
    return str(get_object_or_404(model, pk=as_whole_number(given, field)).name)


def _rejects(given: str) -> list[int] | None:
    """None for all that wait."""
    if given in ("", ALL_REJECTS):
        return None
    return [] if given == NO_REJECTS else [as_whole_number(given, "rejects")]


def _start(request: HttpRequest, found: Upload, seen: Json, answers: dict[str, Any]) -> Run:
    config = {**seen["import"], "upload": found.pk, "name": answers["name"], "note": answers["note"]}
    if answers.get("new_isa"):
        config["new_isa"] = answers["new_isa"]
    if answers.get("others"):
        config["others"] = answers["others"]
    if answers.get("evidence"):
        config["evidence"] = [each.name for each in answers["evidence"]]
    name = free_name(Run, f"Import {found.file_name}")
    return lifecycle.submit("import", config, name, user=request.user)


def _onward(request: HttpRequest, run: Run) -> HttpResponse:
    """To the run; what else waits is a link there."""
    others = waiting_uploads().count()
    if others:
        waits = "file waits" if others == 1 else "files wait"
        messages.info(
            request,
            format_html('<a href="{}">{} more {}</a> for your decision.', reverse("upload"), others, waits),
        )
    return redirect("run", run.pk)


@require_POST
def upload_import_all(request: HttpRequest) -> HttpResponse:
    """Import every waiting file that has no problem, under the name proposed for it."""
    started: list[Run] = []
    refused: list[str] = []
    taken: set[tuple[str, str]] = set()
    for found in waiting_uploads():
        seen: Json = found.preview or {}
        if not seen.get("acceptable"):
            refused.append(found.file_name)
            continue
        form = ImportForm(seen, AS_PROPOSED)
        key = (seen["kind"], form.initial["name"])
        if key not in taken and form.is_valid():
            taken.add(key)
            started.append(_start(request, found, seen, form.cleaned_data))
        else:
            refused.append(found.file_name)
    if started:
        links = format_html_join(
            ", ", '<a href="{}">{}</a>', ((reverse("run", args=[run.pk]), run.name) for run in started)
        )
        plural = "" if len(started) == 1 else "s"
        messages.success(request, format_html("{} import{} queued: {}", len(started), plural, links))
    if refused:
        messages.warning(request, f"To be looked at first: {', '.join(refused)}")
    return redirect("upload" if refused or not started else "runs")


@require_POST
def upload_discard(request: HttpRequest, pk: int) -> HttpResponse:
    """Forget a file that has not been imported."""
    found = get_object_or_404(waiting_uploads(), pk=pk)
    found.delete()
    messages.success(request, f"{found.file_name} was discarded.")
    return redirect("upload")


def upload_run(request: HttpRequest, pk: int) -> HttpResponse:
    """What an uploaded zip would bring; a POST starts its import, which reads the rest of it."""
    found = get_object_or_404(waiting_uploads(), pk=pk)
    if found.preview is None or found.preview.get("page") != "upload-run":
        return redirect("upload-preview", pk)
    error = ""
    if request.method == "POST":
        try:
            name = unused_name(f"Import {found.file_name}"[:190])
            return redirect("run", submit("import", {"upload": found.pk}, name, user=request.user).pk)
        except ConfigError as problem:
            error = str(problem)
    context = {"upload": found, "archive": found.preview["seen"], "error": error}
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
