"""The form for a comparison: whose items, which sources, and what these are held against."""

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
from inference.features.asking.predictors.query import processor_of_machine
from inference.features.asking.questions.form import ProcessorForm
from inference.features.judging.engine.request import KIND, MOST_COLUMNS, JudgeConfig
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
from inference.web.request_fields import RequestField, RunForm, describe_fields, start_run
from inference.web.validation import whole_number

OF_SET, OF_BLOCKS = "set", "blocks"
_LISTED = 100
"""Newest sets of a kind that can be chosen."""
_LOOKED_AT = 300
"""Measurements at either end of a set in which the names of tools are looked for."""
PRESET_ROUNDS, PRESET_MEASURED = 3, 500
"""Of what is held against a machine's measurements: rounds, and blocks, which take a machine some minutes."""
_TICKED = 8
"""Mappings that are ticked when nothing else was asked for: the newest."""
_STORED = {
    "mappings": SourceKind.MAPPING,
    "resource_mappings": SourceKind.RESOURCES,
    "tools": SourceKind.TOOL,
    "other_sets": SourceKind.SET,
    "columns": SourceKind.COLUMN,
}
"""{field: what its entries are}; whoever is asked is in `predictors`."""
_OFFERED = {SourceKind.CORE_MODEL: (core_model.KIND, "model"), SourceKind.MACHINE: (machine.KIND, "machine")}


def _boxes(label: str, help_text: str = "") -> forms.MultipleChoiceField:
    boxes = forms.CheckboxSelectMultiple
    return forms.MultipleChoiceField(required=False, widget=boxes, label=label, help_text=help_text)


class JudgeForm(RunForm, ProcessorForm):
    """What is compared on the items of one set."""

    request = JudgeConfig
    mappings = _boxes("Port mappings")
    resource_mappings = _boxes("Resource mappings", "Palmed’s among them.")
    tools = _boxes("Answers in the set", "Other tools’ answers in the uploaded file.")
    other_sets = _boxes("Other measurements", "The same experiments in another set: another day, or machine.")
    columns = _boxes("Columns of the set", "Answers that are stored with the blocks.")
    against = forms.ChoiceField(
        required=False,
        label="Against",
        help_text="What the others are held against: what was measured, or another source.",
    )
    instructions = RequestField(
        paper="10",
        label="Minimum instructions per block",
        help_text="Of an experiment that is asked for. More hide longer latencies, and take tools longer.",
    )
    most = RequestField(label="Maximum items to ask for", help_text="A larger set is sampled at random.")
    rounds = RequestField(
        label="Measurements of each block",
        initial=PRESET_ROUNDS,
        help_text="Where a machine measures what the others are held against: the median counts, and once "
        "more shows how well anybody could predict it. The blocks become a set of their own.",
    )
    mode = mode_field("as it was measured")
    anew = None  # type: ignore[assignment]  # as Django removes a field

    def __init__(self, subject: Subject, data: Any = None, ticked: Json | None = None) -> None:
        self.subject = subject
        known = offers() if has_blocks(subject) else Offers([], [], [], [])
        known = Offers(known.tools, known.core_models, [], known.machines)
        super().__init__(data, ticked, known)
        stored = stored_sources(subject)
        texts = [(f"{_STORED[name]}:{value}", label) for name, own in stored.items() for value, label in own]
        measuring = measuring_machines() if has_blocks(subject) else []
        self.set_choices(**stored, against=[("", "what was measured"), *texts, *measuring])
        describe_fields(self)

    def config(self) -> Json:
        """The description of the run."""
        data = self.cleaned_data
        stored = [f"{kind}:{value}" for name, kind in _STORED.items() for value in data[name]]
        predictors = [f"{SourceKind.PREDICTOR}:{row.pk}" for row in self.rows]
        is_block_set = isinstance(self.subject, BasicBlockSet)
        return {
            "block_set" if is_block_set else "experiment_set": self.subject.pk,
            "sources": [text for text in (*stored, *predictors) if text != data["against"]],
            "against": data["against"],
            **self.stated(),
            "mode": data["mode"],
            "rounds": data["rounds"] or 0 if is_block_set and _measures(data["against"]) else 0,
        }


def _measures(text: str) -> bool:
    return text.startswith(f"{SourceKind.MACHINE}:")


def measuring_machines() -> list[tuple[str, str]]:
    """(source, label) of the machines that can measure blocks, this computer first."""
    rows = Machine.objects.filter(isa__name__in=names_with_blocks(), kind__in=MEASURING)
    ordered = rows.order_by("-local", "name").values_list("pk", "name")
    return [(f"{SourceKind.MACHINE}:{pk}", f"{name}, measured for it") for pk, name in ordered]


def has_blocks(subject: Subject) -> bool:
    """Whether predictors can be asked about the items."""
    return isinstance(subject, BasicBlockSet) or target_of(subject.isa.name).blocks is not None


def stored_sources(subject: Subject) -> dict[str, list[tuple[str, str]]]:
    """{field: (value, label) of its entries}: everything stored that answers for the items of a set."""
    same = {} if subject.isa_id is None else {"isa": subject.isa_id}
    mappings = PortMapping.objects.filter(**same).order_by("-id")
    resources = ResourceMapping.objects.filter(**same).order_by("-id")
    rows_of: dict[str, Iterable[tuple[int, str]]] = {
        "mappings": mappings.values_list("pk", "name"),
        "resource_mappings": resources.values_list("pk", "name"),
    }
    if isinstance(subject, BasicBlockSet):
        rows_of["columns"] = subject.columns.order_by("position").values_list("pk", "name")
    else:
        sets = ExperimentSet.objects.filter(**same).exclude(pk=subject.pk).order_by("-id")
        rows_of["other_sets"] = sets.values_list("pk", "name")
    entries = {name: [(str(pk), str(label)) for pk, label in rows] for name, rows in rows_of.items()}
    tools = tool_names(subject) if isinstance(subject, ExperimentSet) else []
    return {**{name: [] for name in _STORED}, **entries, "tools": [(name, name) for name in tools]}


def tool_names(judge: ExperimentSet) -> list[str]:
    """The tools that have answers at the beginning or the end of a set."""
    rows = judge.measurements.exclude(annotations={})
    names: dict[str, None] = {}
    for order in ("id", "-id"):
        for answers in rows.order_by(order).values_list("annotations", flat=True)[:_LOOKED_AT]:
            names |= dict.fromkeys(answers)
    return list(names)


def comparison_new(request: HttpRequest) -> HttpResponse:
    """Show the form for a set, or start the run.

    The address names the items by `items`, `set:3` or `blocks:6`, or by `set`; with `source` (which may be
    repeated), `mapping` or `resource_mapping` what to compare on them: without items, on the largest set of
    its machine; with `against`, what to hold it against.
    """
    subjects, sources = _subjects(request), _source_texts(request)
    subject = _chosen(request, subjects, next(iter(sources), ""))
    context: dict[str, Any] = {"subjects": [(text, row.name) for text, row in subjects.items()]}
    context["problems"] = _problems(sources, subject, next(iter(subjects.values()), None))
    if subject is None:
        status = 400 if context["problems"] else 200
        return render(request, "inference/engine/new.html", context, status=status)
    if request.method == "POST":
        form = JudgeForm(subject, request.POST)
        if form.is_valid():
            run = start_run(request, KIND, form.config(), f"Predictors on {subject.name}"[:180], form=form)
            if run is not None:
                return redirect("comparison", run.pk)
    else:
        form = JudgeForm(subject, ticked=_ticked(subject, sources, _against_text(request)))
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
    """Why sources that the address names cannot be ticked; without a set, what is wrong with them."""
    problems = []
    for text in sources:
        try:
            source_named(text, subject or any_subject or BasicBlockSet())
        except SourceError as error:
            problems.append(str(error))
    return problems


def _subjects(request: HttpRequest) -> dict[str, Subject]:
    """{text: set} of those that can be chosen, newest first, experiments before blocks."""
    sets = ExperimentSet.objects.select_related("isa", "machine__isa").order_by("-id")
    blocks = BasicBlockSet.objects.filter(size__gt=0).select_related("isa").order_by("-id")
    models: dict[str, QuerySet[Any]] = {OF_SET: sets, OF_BLOCKS: blocks}
    subjects: dict[str, Subject] = {f"{OF_SET}:{row.pk}": row for row in sets[:_LISTED]}
    subjects |= {f"{OF_BLOCKS}:{row.pk}": row for row in blocks[:_LISTED]}
    named = _items_text(request)
    kind, _, number = named.partition(":")
    if named and named not in subjects and number.isdecimal() and len(number) < 19:
        rows = models.get(kind)
        row = None if rows is None else rows.filter(pk=int(number)).first()
        subjects |= {} if row is None else {named: row}
    return subjects


def _items_text(request: HttpRequest) -> str:
    number = whole_number(request, "set")
    return request.GET.get("items", "" if number is None else f"{OF_SET}:{number}")


def _newest(subjects: dict[str, Subject], kind: str) -> Subject | None:
    return next((row for text, row in subjects.items() if text.startswith(f"{kind}:")), None)


def _source_texts(request: HttpRequest) -> list[str]:
    for name, kind in (("mapping", SourceKind.MAPPING), ("resource_mapping", SourceKind.RESOURCES)):
        if (number := whole_number(request, name)) is not None:
            return [f"{kind}:{number}"]
    return [text[:300] for text in request.GET.getlist("source") if text][:MOST_COLUMNS]


def _against_text(request: HttpRequest) -> str:
    """The source to hold others against; `machine` alone stands for the first that measures."""
    text = request.GET.get("against", "")[:300]
    if text != SourceKind.MACHINE:
        return text
    return next((source for source, _ in measuring_machines()), "")


def _chosen(request: HttpRequest, subjects: dict[str, Subject], source: str) -> Subject | None:
    """The set that the address names (the newest of its kind, where that alone is named), else the one that
    suits the source best. Raises `Http404`.
    """
    named = _items_text(request)
    if named in (OF_SET, OF_BLOCKS):
        return _newest(subjects, named)
    if named:
        if named not in subjects:
            raise Http404("there is no such set")
        return subjects[named]
    rows = list(subjects.values())
    return _most_telling(rows, source) if source else next(iter(rows), None)


def _most_telling(subjects: Sequence[Subject], source: str) -> Subject | None:
    """The largest set of the source's machine, else the largest that it answers for; the newest at a tie.

    What a mapping was learnt from is the largest as a rule; small sets often are of schemes that it lacks.
    """
    sets = [row for row in subjects if isinstance(row, ExperimentSet)]
    counted = ExperimentSet.objects.filter(pk__in=[row.pk for row in sets]).annotate(n=Count("measurements"))
    counts = dict(counted.values_list("pk", "n"))
    sets.sort(key=lambda row: counts[row.pk], reverse=True)
    ordered: list[Subject] = [*sets, *(row for row in subjects if isinstance(row, BasicBlockSet))]
    for largest in ordered:
        answering = _read(source, largest)
        if answering is not None:
            machine = getattr(answering.row, "machine_id", None)
            of_machine = (row for row in sets if row.machine_id == machine and row != answering.row)
            return largest if machine is None else next(of_machine, largest)
    return None


def _read(source: str, subject: Subject) -> AnswerSource | None:
    try:
        return source_named(source, subject)
    except SourceError:
        return None


def _ticked(subject: Subject, sources: Sequence[str], against: str) -> Json:
    """What is ticked at first: what the address names, else the newest mappings; the set's own answers.

    Against what a machine measures, all that suit it.
    """
    own = stored_sources(subject)
    ticked: Json = {name: [value for value, _ in own[name]] for name in ("tools", "columns")}
    at = subject.machine if isinstance(subject, ExperimentSet) else None
    if _measures(against):
        at = Machine.objects.filter(pk=against.partition(":")[2]).first()
        tools = [offer.text for offer in offers().tools]
        ticked |= {"columns": [], "predictors": tools, "most": PRESET_MEASURED}
        if at is not None:
            ticked["predictors"] += _core_models(at)
            newest = at.mappings.order_by("-pk").values_list("pk", flat=True)[:_TICKED]
            ticked["mappings"] = [str(pk) for pk in newest]
    ticked |= {"processor": "" if at is None else processor_of_machine(at), "against": against}
    answering = [source for text in sources if (source := _read(text, subject)) is not None]
    if not answering and "mappings" not in ticked:
        return {**ticked, "mappings": [value for value, _ in own["mappings"]][:_TICKED]}
    if len(sources) > 1:  # they are all that is meant, not what is added to the set's own answers
        ticked |= {"tools": [], "columns": []}
    for source in answering:
        field = next((name for name, kind in _STORED.items() if kind is source.kind), "predictors")
        value = str(source.row.pk) if field != "predictors" and source.row else _offer_text(source)
        ticked[field] = [*ticked.get(field, []), value] if len(sources) > 1 else [value]
    return ticked


def _core_models(machine: Machine) -> list[str]:
    names = usable_core_models().filter(machine=machine).values_list("name", flat=True)
    return [f"{core_model.KIND}:model={name}" for name in names]


def _offer_text(source: AnswerSource) -> str:
    if source.kind in _OFFERED:
        kind, option = _OFFERED[source.kind]
        return f"{kind}:{option}={source.name}"
    matching = (offer.text for offer in offers().all if source.name in (offer.label, offer.text))
    return next(matching, source.name)


urlpatterns = [path("comparisons/new/", comparison_new, name="comparison-new")]
