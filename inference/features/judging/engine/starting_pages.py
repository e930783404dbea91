"""The form that starts a comparison: items, sources, and reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path

from inference.core.protocols import Json
from inference.features.asking.predictors.kinds import MEASURING
from inference.features.asking.predictors.modes import mode_field
from inference.features.asking.predictors.offers import Offers, offers
from inference.features.asking.questions.form import ProcessorForm
from inference.features.judging.engine.request import KIND, MAX_COLUMNS, JudgeConfig
from inference.features.judging.engine.sources import (
    AnswerSource,
    SourceError,
    SourceKind,
    Subject,
    source_named,
)
from inference.features.learning.core_model.query import usable_core_models
from inference.isa.targets import names_with_blocks, target_of
from inference.models import BasicBlockSet, ExperimentSet, Machine, PortMapping, ResourceMapping
from inference.predictors import core_model, machine
from inference.storage.instruction_sets import core_name
from inference.storage.names import machine_label
from inference.web.request_fields import RequestField, RunForm, describe_fields, start_run
from inference.web.validation import number_parameter

OF_SET, OF_BLOCKS = "set", "blocks"
_MAX_SETS = 100
"""Sets of a kind that the form offers: the newest."""
_TOOL_SAMPLE = 300
"""Measurements at either end of a set that are searched for names of tools."""
PRESET_ROUNDS, PRESET_MEASURED = 3, 500
"""Initial rounds and blocks of a comparison with a machine's measurements, which take some minutes."""
_PRESELECTED = 8
"""Mappings that are preselected if the address names no source: the newest."""
_STORED_FIELDS = {
    "mappings": SourceKind.MAPPING,
    "resource_mappings": SourceKind.RESOURCES,
    "tools": SourceKind.TOOL,
    "other_sets": SourceKind.SET,
    "columns": SourceKind.COLUMN,
}
"""{field: the kind of its sources}; sources that have to be asked are in `predictors`."""
_OFFER_OPTIONS = {
    SourceKind.CORE_MODEL: (core_model.KIND, "model"),
    SourceKind.MACHINE: (machine.KIND, "machine"),
}


def _checkboxes(label: str, help_text: str = "") -> forms.MultipleChoiceField:
    boxes = forms.CheckboxSelectMultiple
    return forms.MultipleChoiceField(required=False, widget=boxes, label=label, help_text=help_text)


class JudgeForm(RunForm, ProcessorForm):
    request = JudgeConfig
    mappings = _checkboxes("Port mappings")
    resource_mappings = _checkboxes("Resource mappings", "Palmed’s among them.")
    tools = _checkboxes("Answers in the set", "Answers of other tools in the uploaded file.")
    other_sets = _checkboxes("Other measurements", "The same experiments in other sets.")
    columns = _checkboxes("Columns of the set", "Answers that are stored with the blocks.")
    against = forms.ChoiceField(
        required=False,
        label="Against",
        help_text="The reference of all errors: the measurements, or another source.",
    )
    instructions = RequestField(
        paper="10",
        label="Minimum instructions per block",
        help_text="More instructions hide longer latencies, and take tools longer.",
    )
    most = RequestField(label="Maximum items", help_text="A larger set is sampled at random.")
    rounds = RequestField(
        label="Measurements of each block",
        initial=PRESET_ROUNDS,
        help_text="If a machine measures the reference: the median counts, and one more measurement "
        "shows how close a prediction can come. The blocks become a set of their own.",
    )
    mode = mode_field("as measured")
    anew = None  # type: ignore[assignment]  # None removes a field in Django

    def __init__(self, subject: Subject, data: Any = None, ticked: Json | None = None) -> None:
        self.subject = subject
        available = offers() if has_blocks(subject) else Offers([], [], [], [])
        available = Offers(available.tools, available.core_models, [], available.machines)
        super().__init__(data, ticked, available)
        stored = stored_sources(subject)
        texts = [
            (f"{_STORED_FIELDS[name]}:{value}", label)
            for name, choices in stored.items()
            for value, label in choices
        ]
        measuring = measuring_machines() if has_blocks(subject) else []
        self.set_choices(**stored, against=[("", "what was measured"), *texts, *measuring])
        describe_fields(self)

    def config(self) -> Json:
        data = self.cleaned_data
        stored = [f"{kind}:{value}" for name, kind in _STORED_FIELDS.items() for value in data[name]]
        predictors = [f"{SourceKind.PREDICTOR}:{row.pk}" for row in self.rows]
        is_block_set = isinstance(self.subject, BasicBlockSet)
        return {
            "block_set" if is_block_set else "experiment_set": self.subject.pk,
            "sources": [text for text in (*stored, *predictors) if text != data["against"]],
            "against": data["against"],
            **self.stated(),
            "mode": data["mode"],
            "rounds": data["rounds"] or 0 if is_block_set and _is_machine(data["against"]) else 0,
        }


def _is_machine(text: str) -> bool:
    return text.startswith(f"{SourceKind.MACHINE}:")


def measuring_machines() -> list[tuple[str, str]]:
    """(text of the source, label) of the machines that measure blocks, this computer first."""
    rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind__in=MEASURING)
    ordered = rows.select_related("isa").order_by("-local", "name")
    return [(f"{SourceKind.MACHINE}:{row.pk}", f"{machine_label(row)}, new measurements") for row in ordered]


def has_blocks(subject: Subject) -> bool:
    """Whether the items are blocks, or can become blocks that predictors answer for."""
    return isinstance(subject, BasicBlockSet) or target_of(subject.isa.name).blocks is not None


def stored_sources(subject: Subject) -> dict[str, list[tuple[str, str]]]:
    """{field: (value, label) of its choices} of all stored sources that answer for the items of a set."""
    of_isa = {} if subject.isa_id is None else {"isa": subject.isa_id}
    mappings = PortMapping.objects.filter(**of_isa).order_by("-id")
    resources = ResourceMapping.objects.filter(**of_isa).order_by("-id")
    rows_of: dict[str, Iterable[tuple[int, str]]] = {
        "mappings": mappings.values_list("pk", "name"),
        "resource_mappings": resources.values_list("pk", "name"),
    }
    if isinstance(subject, BasicBlockSet):
        rows_of["columns"] = subject.columns.order_by("position").values_list("pk", "name")
    else:
        sets = ExperimentSet.objects.filter(**of_isa).exclude(pk=subject.pk).order_by("-id")
        rows_of["other_sets"] = sets.values_list("pk", "name")
    entries = {name: [(str(pk), str(label)) for pk, label in rows] for name, rows in rows_of.items()}
    tools = tool_names(subject) if isinstance(subject, ExperimentSet) else []
    return {**{name: [] for name in _STORED_FIELDS}, **entries, "tools": [(name, name) for name in tools]}


def tool_names(judge: ExperimentSet) -> list[str]:
    """The names of tools with answers at the beginning or the end of a set."""
    rows = judge.measurements.exclude(annotations={})
    names: dict[str, None] = {}
    for order in ("id", "-id"):
        for answers in rows.order_by(order).values_list("annotations", flat=True)[:_TOOL_SAMPLE]:
            names |= dict.fromkeys(answers)
    return list(names)


def comparison_new(request: HttpRequest) -> HttpResponse:
    """The form for a set; a POST starts the run.

    Parameters of the address: `items`, `set:3` or `blocks:6`, or `set` an id; `source` (repeatable),
    `mapping` or `resource_mapping`, the preselected sources, whose largest set is chosen without items;
    `against`, the reference.
    """
    subjects, sources = _subjects(request), _source_texts(request)
    subject = _chosen_subject(request, subjects, next(iter(sources), ""))
    context: dict[str, Any] = {"subjects": [(text, row.name) for text, row in subjects.items()]}
    context["problems"] = _problems(sources, subject, next(iter(subjects.values()), None))
    if subject is None:
        status = 400 if context["problems"] else 200
        return render(request, "inference/engine/new.html", context, status=status)
    if request.method == "POST":
        form = JudgeForm(subject, request.POST)
        if form.is_valid():
            run = start_run(request, KIND, form.config(), form=form)
            if run is not None:
                return redirect("comparison", run.pk)
    else:
        form = JudgeForm(subject, ticked=_initial_choice(subject, sources, _against_text(request)))
    context |= {
        "form": form,
        "subject": subject,
        "items": next(text for text, row in subjects.items() if row == subject),
        "sources": sources,
        "against": request.GET.get("against", ""),
        "refused": form.is_bound,
    }
    is_wrong = form.is_bound or bool(context["problems"])
    return render(request, "inference/engine/new.html", context, status=400 if is_wrong else 200)


def _problems(sources: Sequence[str], subject: Subject | None, any_subject: Subject | None) -> list[str]:
    """Why sources in the address cannot be preselected."""
    problems = []
    for text in sources:
        try:
            source_named(text, subject or any_subject or BasicBlockSet())
        except SourceError as error:
            problems.append(str(error))
    return problems


def _subjects(request: HttpRequest) -> dict[str, Subject]:
    """{text: set} of the choices, newest first, experiments before blocks."""
    sets = ExperimentSet.objects.select_related("isa", "machine__isa").order_by("-id")
    blocks = BasicBlockSet.objects.filter(size__gt=0).select_related("isa").order_by("-id")
    models: dict[str, QuerySet[Any]] = {OF_SET: sets, OF_BLOCKS: blocks}
    subjects: dict[str, Subject] = {f"{OF_SET}:{row.pk}": row for row in sets[:_MAX_SETS]}
    subjects |= {f"{OF_BLOCKS}:{row.pk}": row for row in blocks[:_MAX_SETS]}
    named = _items_text(request)
    kind, _, number = named.partition(":")
    if named and named not in subjects and number.isdecimal() and len(number) < 19:
        rows = models.get(kind)
        row = None if rows is None else rows.filter(pk=int(number)).first()
        subjects |= {} if row is None else {named: row}
    return subjects


def _items_text(request: HttpRequest) -> str:
    number = number_parameter(request, "set")
    return request.GET.get("items", "" if number is None else f"{OF_SET}:{number}")


def _newest(subjects: dict[str, Subject], kind: str) -> Subject | None:
    return next((row for text, row in subjects.items() if text.startswith(f"{kind}:")), None)


def _source_texts(request: HttpRequest) -> list[str]:
    for name, kind in (("mapping", SourceKind.MAPPING), ("resource_mapping", SourceKind.RESOURCES)):
        if (number := number_parameter(request, name)) is not None:
            return [f"{kind}:{number}"]
    return [text[:300] for text in request.GET.getlist("source") if text][:MAX_COLUMNS]


def _against_text(request: HttpRequest) -> str:
    """The reference in the address; `machine` without an id stands for the first machine that measures."""
    text = request.GET.get("against", "")[:300]
    if text != SourceKind.MACHINE:
        return text
    return next((source for source, _ in measuring_machines()), "")


def _chosen_subject(request: HttpRequest, subjects: dict[str, Subject], source: str) -> Subject | None:
    """The set in the address (the newest of a kind, for a kind alone), else the best one for the source, else
    the newest blocks, for which everything can answer.

    Raises `Http404` for an unknown set.
    """
    named = _items_text(request)
    if named in (OF_SET, OF_BLOCKS):
        return _newest(subjects, named)
    if named:
        if named not in subjects:
            raise Http404("there is no such set")
        return subjects[named]
    rows = list(subjects.values())
    if source:
        return _best_subject(rows, source)
    return _newest(subjects, OF_BLOCKS) or next(iter(rows), None)


def _best_subject(subjects: Sequence[Subject], source: str) -> Subject | None:
    """The largest set of the source's machine, else the largest that the source answers for; the newest of
    equals.

    A mapping's training set usually is the largest; small sets often have schemes that it lacks.
    """
    sets = [row for row in subjects if isinstance(row, ExperimentSet)]
    counted = ExperimentSet.objects.filter(pk__in=[row.pk for row in sets]).annotate(n=Count("measurements"))
    counts = dict(counted.values_list("pk", "n"))
    sets.sort(key=lambda row: counts[row.pk], reverse=True)
    ordered: list[Subject] = [*sets, *(row for row in subjects if isinstance(row, BasicBlockSet))]
    for largest in ordered:
        answering = _source_or_none(source, largest)
        if answering is not None:
            machine = getattr(answering.row, "machine_id", None)
            of_machine = (row for row in sets if row.machine_id == machine and row != answering.row)
            return largest if machine is None else next(of_machine, largest)
    return None


def _source_or_none(source: str, subject: Subject) -> AnswerSource | None:
    try:
        return source_named(source, subject)
    except SourceError:
        return None


def _initial_choice(subject: Subject, sources: Sequence[str], against: str) -> Json:
    """The initial values of the form: the sources in the address, else the newest mappings and the set's
    answers, or for blocks this computer's core models and all tools.

    For a reference that a machine measures: its core models, its mappings and all tools.
    """
    stored = stored_sources(subject)
    ticked: Json = {name: [value for value, _ in stored[name]] for name in ("tools", "columns")}
    machine_row = subject.machine if isinstance(subject, ExperimentSet) else None
    if _is_machine(against):
        machine_row = Machine.objects.filter(pk=against.partition(":")[2]).first()
        tools = [offer.text for offer in offers().tools]
        ticked |= {"columns": [], "predictors": tools, "most": PRESET_MEASURED}
        if machine_row is not None:
            ticked["predictors"] += _core_models(machine_row)
            newest = machine_row.mappings.order_by("-pk").values_list("pk", flat=True)[:_PRESELECTED]
            ticked["mappings"] = [str(pk) for pk in newest]
    ticked |= {
        "processor": "" if machine_row is None else core_name(machine_row),
        "against": against,
    }
    answering = [source for text in sources if (source := _source_or_none(text, subject)) is not None]
    if not answering and "mappings" not in ticked:
        if isinstance(subject, BasicBlockSet):
            local = Machine.objects.filter(local=True).first()
            return ticked | {
                "predictors": [
                    *(_core_models(local) if local else ()),
                    *(offer.text for offer in offers().tools),
                ],
                "processor": "" if local is None else core_name(local),
            }
        return {**ticked, "mappings": [value for value, _ in stored["mappings"]][:_PRESELECTED]}
    if len(sources) > 1:  # several sources are meant as the complete choice
        ticked |= {"tools": [], "columns": []}
    for source in answering:
        field = next((name for name, kind in _STORED_FIELDS.items() if kind is source.kind), "predictors")
        value = str(source.row.pk) if field != "predictors" and source.row else _offer_text(source)
        ticked[field] = [*ticked.get(field, []), value] if len(sources) > 1 else [value]
    return ticked


def _core_models(machine: Machine) -> list[str]:
    names = usable_core_models().filter(machine=machine).values_list("name", flat=True)
    return [f"{core_model.KIND}:model={name}" for name in names]


def _offer_text(source: AnswerSource) -> str:
    if source.kind in _OFFER_OPTIONS:
        kind, option = _OFFER_OPTIONS[source.kind]
        return f"{kind}:{option}={source.name}"
    matching = (offer.text for offer in offers().all if source.name in (offer.label, offer.text))
    return next(matching, source.name)


urlpatterns = [path("comparisons/new/", comparison_new, name="comparison-new")]
