"""Upload, preview and import of files. Only the file itself is stored before its preview was seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_POST

from inference.core.resources import ResourceMapping as Resources
from inference.features.inferring.form import SetsField
from inference.features.uploads.choices import (
    ALL_REJECTS,
    NEW,
    NO_NAMES,
    NO_REJECTS,
    Choices,
    SideFiles,
    offers_of,
    seen_as_chosen,
)
from inference.features.uploads.job import LEAVE_OUT
from inference.features.uploads.query import keep_all, waiting_name_lists, waiting_rejects, waiting_uploads
from inference.formats.document import ReadExperiments
from inference.formats.explained_json import RATE
from inference.formats.file_units import FileUnit
from inference.formats.importing import XML_PEEK, Preview, preview
from inference.formats.measurement_doubts import doubts_of, unit_in_doubt
from inference.formats.other_formats import importer_of_content
from inference.formats.palmed_json import INSTRUCTIONS
from inference.formats.parsing import Parsed
from inference.formats.uops_info_xml import is_xml
from inference.models import ISA, ExperimentSet, PortMapping, ResourceMapping, Run, Upload
from inference.runs import lifecycle
from inference.runs.errors import LimitError, RunsError
from inference.storage.errors import ExchangeError, NameTakenError
from inference.storage.names import free_name, free_or_refuse
from inference.storage.resource_mappings import load_predictor
from inference.web.requests import one_of

_BOUNDS = 50  # port mappings to hold numbers against that the preview offers
EVIDENCE_SIZE = 2000  # measurements; a search for the ports of blocking instructions takes some dozens


class ImportForm(forms.Form):
    """What an import is told: the name, and for a new instruction set that one's name too."""

    new_isa = forms.CharField(
        label="Name of the new instruction set",
        max_length=200,
        help_text="Made from the scheme names in this file.",
    )
    name = forms.CharField(max_length=200, help_text="Commands and other pages find it by this name.")
    note = forms.CharField(required=False, max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))
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

    def __init__(self, seen: Preview, data: object = None) -> None:
        super().__init__(data, initial={"name": seen.name, "new_isa": seen.new_isa})  # type: ignore[arg-type]
        self.model = seen.model
        if seen.isa is not None:
            del self.fields["new_isa"]
        others = other_microarchitectures(seen)
        if others and seen.isa is not None:
            self.fields["others"].choices = [(each, each) for each in others]  # type: ignore[attr-defined]
        else:
            del self.fields["others"]
        sets = ExperimentSet.objects.none() if seen.explanation is None else _possible_evidence(seen.isa)
        if sets.exists():
            self.fields["evidence"].queryset = sets  # type: ignore[attr-defined]
        else:
            del self.fields["evidence"]

    def clean_name(self) -> str:
        """Refuse a name in use."""
        return _free(self.model, self.cleaned_data["name"])

    def clean_new_isa(self) -> str:
        """Refuse a name in use."""
        return _free(ISA, self.cleaned_data["new_isa"])


def other_microarchitectures(seen: Preview) -> list[str]:
    """Those that a file has besides the one that was read of it."""
    facts = seen.parsed.facts
    return [each for each in facts.get("microarchitectures", ()) if each != seen.microarchitecture]


def _possible_evidence(isa: ISA | None) -> QuerySet[ExperimentSet]:
    """Small sets of the instruction set, the newest first."""
    sized = ExperimentSet.objects.filter(isa=isa).annotate(size=Count("measurements"))
    return sized.filter(size__lte=EVIDENCE_SIZE).order_by("-id")


def _free(model: type[ISA | ExperimentSet | PortMapping | ResourceMapping], name: str) -> str:
    try:
        free_or_refuse(model, name)
    except NameTakenError as error:
        raise forms.ValidationError(str(error)) from error
    return name


def upload(request: HttpRequest) -> HttpResponse:
    """The form for files, and those that wait for a decision."""
    error = ""
    if request.method == "POST":
        files = request.FILES.getlist("files")
        error = _refusal(files)
        if not error:
            try:
                kept = keep_all(files, request.user)
            except (ExchangeError, LimitError) as problem:
                error = str(problem)
            else:
                return redirect("upload-preview", kept[0].pk) if len(kept) == 1 else redirect("upload")
    context = {"error": error, "waiting": waiting_uploads(), "limit": settings.UPLOAD_LIMIT_BYTES}
    return render(request, "inference/uploads/upload.html", context, status=400 if error else 200)


def _refusal(files: list[UploadedFile[bytes]]) -> str:
    if not files:
        return "No file was chosen. Choose one or more CSV, JSON or XML files."
    limit = settings.UPLOAD_LIMIT_BYTES
    for file in files:
        beginning = file.read(XML_PEEK)
        file.seek(0)
        if (file.size or 0) > limit and not is_xml(beginning):
            return f"{file.name} has {(file.size or 0) >> 20} MiB; a file can have at most {limit >> 20} MiB."
    return ""


def upload_preview(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a file would bring; a POST starts its import."""
    found = get_object_or_404(waiting_uploads().defer(None), pk=pk)
    other = importer_of_content(bytes(found.content))
    if other is not None:
        return redirect(other.preview, found.pk)
    lists = waiting_name_lists() if _takes_names(found) else []
    rejects = waiting_rejects() if _takes_rejects(found) else []
    beside = SideFiles(
        _chosen_names(request, lists),
        _chosen_rejects(request, rejects),
        request.GET.get("microarchitecture", "").strip()[:40],
    )
    choices = Choices.read(request)
    seen = seen_as_chosen(request, found, beside, choices)
    form = ImportForm(seen, request.POST if request.method == "POST" else None) if seen.acceptable else None
    if form is not None and form.is_bound and form.is_valid():
        try:
            return _onward(request, _start(request, found, seen, form.cleaned_data, beside))
        except RunsError as error:
            form.add_error(None, str(error))
    parsed = seen.parsed
    return render(
        request,
        "inference/uploads/preview.html",
        {
            "upload": found,
            "seen": seen,
            "facts": facts_of(seen),
            "form": form,
            "unit": parsed.facts.get("unit", FileUnit.CYCLES),
            "units": [(choice.value, choice.label) for choice in FileUnit],
            "asks_unit": names_no_unit(parsed),
            "unit_label": FileUnit(parsed.facts.get("unit", FileUnit.CYCLES)).label,
            "unit_doubt": unit_in_doubt(parsed),
            "unit_why": parsed.facts.get("why", ""),
            "choices": choices,
            "leave_out": LEAVE_OUT,
            "unknown": offers_of(seen),
            "doubts": doubts_of(parsed, None if choices.ports is None else load_predictor(choices.ports)),
            "bounds": PortMapping.objects.filter(isa=seen.isa).defer("report").order_by("-id")[:_BOUNDS],
            "name_lists": lists,
            "names": beside.names,
            "reject_lists": rejects,
            "rejects": beside.rejects,
            "microarchitectures": parsed.facts.get("microarchitectures", ()),
            "microarchitecture": beside.microarchitecture,
            "isas": ISA.objects.order_by("name"),
            "new_isa": NEW,
            "sample": parsed.measured[:SAMPLE],
            "loads": _first_loads(seen),
            "left_out": parsed.left_out.items(),
            "usages": list(parsed.mapping.usage.items())[:SAMPLE] if parsed.mapping else (),
            "waiting_count": waiting_uploads().count(),
        },
        status=400 if request.method == "POST" else 200,
    )


def _takes_names(found: Upload) -> bool:
    """Whether the file is one of Palmed's; cheaper than reading it."""
    return INSTRUCTIONS.encode() in bytes(found.content)


def _takes_rejects(found: Upload) -> bool:
    """Whether the file is a port mapping to which lists of rejected schemes can belong."""
    content = bytes(found.content)
    return RATE.encode() in content or b'"Mapping3"' in content


def _chosen_rejects(request: HttpRequest, lists: list[Upload]) -> tuple[Upload, ...]:
    """The rejects that the address asks for: an id, all or none; where it says nothing, all that wait."""
    ids = {str(each.pk): (each,) for each in lists}
    choices = {**ids, ALL_REJECTS: tuple(lists), NO_REJECTS: ()}
    return choices[one_of(request, "rejects", tuple(choices), ALL_REJECTS)]


def _first_loads(seen: Preview) -> list[tuple[str, str]]:
    """(scheme, its loads in words) of the first schemes of a resource mapping."""
    resources = seen.parsed.resources
    if resources is None:
        return []
    return [(text, resources.describe(text)) for text in list(resources.loads)[:SAMPLE]]


def _chosen_names(request: HttpRequest, lists: list[Upload]) -> Upload | None:
    """The list of names that the address asks for: an id, or none; where it says nothing, the first."""
    ids = {str(each.pk): each for each in lists}
    wanted = one_of(request, "names", (*ids, NO_NAMES), next(iter(ids), NO_NAMES))
    return ids.get(wanted)


def _start(
    request: HttpRequest,
    found: Upload,
    seen: Preview,
    answers: dict[str, Any],
    beside: SideFiles,
) -> Run:
    config = {
        "upload": found.pk,
        "name": answers["name"],
        "note": answers["note"],
        "isa": seen.isa.name if seen.isa else "",
        "new_isa": answers.get("new_isa", ""),
        "unit": seen.parsed.facts.get("unit", FileUnit.CYCLES.value),
    }
    config |= beside.config()
    if seen.taken:
        config["taken"] = dict(seen.taken)
    if seen.leave_out:
        config["broken"] = LEAVE_OUT
    if answers.get("others"):
        config["microarchitecture"] = seen.microarchitecture
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
    for found in waiting_uploads().defer(None):
        seen = preview(bytes(found.content), found.file_name)
        form = ImportForm(seen, {"name": seen.name, "new_isa": seen.new_isa})
        key = (form.model.__name__, seen.name)
        if seen.acceptable and key not in taken and form.is_valid():
            taken.add(key)
            started.append(_start(request, found, seen, form.cleaned_data, SideFiles()))
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


# What the preview of an upload says about the file, as plain rows for its template.


SAMPLE = 12  # rows of the file that the preview repeats
UNIT_COLUMN = "unit"


@dataclass(frozen=True)
class FileFact:
    """A label with its value; `figure` values are set as numbers."""

    label: str
    value: str
    figure: bool = False


def facts_of(seen: Preview) -> list[FileFact]:
    """The counts, ranges, units and columns that were found in a file."""
    parsed = seen.parsed
    if parsed.resources is not None:
        found = _resource_facts(parsed, parsed.resources)
    else:
        found = _mapping_facts(seen) if parsed.mapping is not None else _experiment_facts(parsed)
    if parsed.schemes:
        found.insert(1 if found else 0, FileFact("Schemes", f"{len(parsed.schemes):,}", figure=True))
    if columns := parsed.facts.get("columns"):
        written = parsed.facts.get("titles", columns)
        found.append(
            FileFact("Columns", ", ".join(_column(*each) for each in zip(written, columns, strict=True)))
        )
    if tools := parsed.facts.get("tools"):
        found.append(FileFact("Other tools' answers", ", ".join(tools)))
    if architecture := parsed.facts.get("arch") or parsed.facts.get("isa"):
        found.append(FileFact("Named in the file", str(architecture)))
    if parsed.merged:
        found.append(FileFact("Names that mean the same scheme", f"{len(parsed.merged):,}", figure=True))
    return found


def _column(title: str, name: str) -> str:
    """A column by its title, and what it was taken for where that is not the same."""
    return name if title.lower() == name.lower() else f"{title} ({name})"


def _experiment_facts(parsed: Parsed) -> list[FileFact]:
    measured = parsed.measured
    if not isinstance(measured, ReadExperiments) or not len(measured):
        return []
    lengths, cycles = measured.lengths, measured.cycles
    units = [FileUnit(unit).label for unit in parsed.facts.get("units", ())]
    return [
        FileFact("Experiments", f"{len(lengths):,}", figure=True),
        FileFact("Instructions per experiment", _range(lengths, ""), figure=True),
        FileFact("Cycles", _range(cycles, ".2f"), figure=True),
        FileFact("Unit in the file", ", ".join(units)),
    ]


def _mapping_facts(seen: Preview) -> list[FileFact]:
    mapping = seen.parsed.mapping
    assert mapping is not None
    limits = " and ".join(f"{rate:g} {what}" for what, rate in mapping.limits.items())
    outcomes = [] if seen.explanation is None else seen.explanation.outcomes.most_common()
    return [
        FileFact("Ports", ", ".join(mapping.ports), figure=True),
        *(FileFact(outcome.value.capitalize(), f"{count:,}", figure=True) for outcome, count in outcomes),
        FileFact("Distinct µops", f"{mapping.uop_kinds:,}", figure=True),
        FileFact("Outside the ports", f"{limits} per cycle" if limits else "not modelled"),
    ]


def _resource_facts(parsed: Parsed, resources: Resources) -> list[FileFact]:
    found = [
        FileFact("Resources", f"{len(resources.resources):,}", figure=True),
        FileFact("Classes of equal loads", f"{resources.classes:,}", figure=True),
    ]
    if total := parsed.facts.get("instructions"):
        found.append(
            FileFact(
                "Instructions with a scheme", f"{total - len(parsed.left_out):,} of {total:,}", figure=True
            )
        )
    return found


def _range(values: Iterable[float], form: str) -> str:
    found = list(values)
    low, high = format(min(found), form), format(max(found), form)
    return low if low == high else f"{low}–{high}"


def names_no_unit(parsed: Parsed) -> bool:
    """Whether the file leaves open what its numbers are: neither a column nor its title says so."""
    facts = parsed.facts
    return "columns" in facts and UNIT_COLUMN not in facts["columns"] and "unit_by_title" not in facts


urlpatterns = [
    path("sets/upload/", upload, name="upload"),
    path("sets/upload/import/", upload_import_all, name="upload-import-all"),
    path("uploads/<int:pk>/", upload_preview, name="upload-preview"),
    path("uploads/<int:pk>/discard/", upload_discard, name="upload-discard"),
]
