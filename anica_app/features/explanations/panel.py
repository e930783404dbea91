"""The section of a block's page that explains a difference or a prediction, with its form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from anica_app.core.search.interestingness import ABSOLUTE, RELATIVE, Disagreement, InterestSettings
from anica_app.core.search.settings import SearchSettings
from anica_app.features.campaigns.form import campaigns_of
from anica_app.features.discoveries.wording import wording_of
from anica_app.features.explanations.job import GeneraliseConfig
from anica_app.models import Campaign
from inference.core.protocols import Json
from inference.features.asking.questions.query import PredictorAnswer, QuestionBlock, furthest_pair
from inference.features.running.runs.kind_presentation import KindPresentation
from inference.isa.blocks import block_of_bytes, body_of
from inference.isa.code.block import BlockName
from inference.runs.errors import ConfigError
from inference.runs.lifecycle import submit
from inference.storage.instruction_sets import of_isa
from inference.web.contributions import Context, PagePanel, PanelPlace
from inference.web.request_fields import RequestField, RequestForm, describe_fields

KIND = "generalise"
MAX_LISTED = 10


def context_of(request: HttpRequest, subject: QuestionBlock) -> Context:
    """The form, and the earlier generalisations of the block, which are updated while they run."""
    del request
    return _context(subject, ExplainForm(subject.lines, subject.name))


def press(request: HttpRequest, subject: QuestionBlock) -> HttpResponse | Context:
    """Start a generalisation; the context with the form's errors where it is invalid."""
    form = ExplainForm(subject.lines, subject.name, request.POST)
    if form.is_valid():
        try:
            run = submit(KIND, form.config(), user=request.user)
            return redirect("campaign", Campaign.objects.get(run=run).pk)
        except ConfigError as error:
            form.add_error(None, str(error))
    return _context(subject, form)


def _context(subject: QuestionBlock, form: ExplainForm) -> Context:
    explanations = explanations_of(subject.name)
    return {
        "explain": form,
        "number": subject.number,
        "shown_block": block_of_bytes(subject.name.code, subject.name.isa),
        "explanations": [_explained_campaign(campaign) for campaign in explanations],
        "followed": [campaign.run for campaign in explanations if campaign.run],
    }


def explanations_of(name: BlockName) -> list[Campaign]:
    """The latest generalisations of a block by anyone, with the rows that the list needs."""
    rows = Campaign.objects.filter(
        of_isa(name.isa), run__kind=KIND, config__block=body_of(name.code, name.isa).hex()
    )
    rows = rows.select_related("run").prefetch_related("seats__predictor", "discoveries")
    return list(rows.order_by("-pk")[:MAX_LISTED])


def _explained_campaign(campaign: Campaign) -> tuple[Campaign, list[str], list[tuple[Any, Any]]]:
    """A generalisation, its predictors, and its discoveries that no other one covers, with their text."""
    names = [tool.name for tool in campaign.tools]
    rows = [row for row in campaign.discoveries.all() if row.subsumed_by_id is None]
    return campaign, names, [(row, wording_of(row.abstract)) for row in rows]


class ExplainForm(RequestForm):
    """Two predictors whose difference is explained, or one whose prediction is."""

    request = GeneraliseConfig
    first = forms.ChoiceField(label="Predictor")
    second = forms.ChoiceField(
        label="Compare with", required=False, help_text="None: explain what its own prediction rests on."
    )
    metric = RequestField(
        {RELATIVE: "by the mean of both", ABSOLUTE: "in cycles"},
        of=InterestSettings,
        label="Disagreement measure",
    )
    threshold = RequestField(
        of=InterestSettings,
        label="More than",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="When two predictors count as different.",
    )
    tolerance = RequestField(
        label="Equal within",
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="Relative difference within which one predictor’s answers count as equal (§8.4.1).",
    )
    samples = RequestField(of=SearchSettings, label="Samples per step")

    def __init__(self, lines: Sequence[PredictorAnswer], block: BlockName, data: Any = None) -> None:
        """`lines`: the answers for the block."""
        pair = furthest_pair(lines)
        super().__init__(data, initial={} if pair is None else {"first": pair[1], "second": pair[0]})
        answered = [line for line in lines if line.answer is not None and line.row is not None]
        self._lines = {str(line.pk): line for line in answered}
        self._block = block
        choices = [(key, line.name) for key, line in self._lines.items()]
        self.set_choices(first=choices, second=[("", "none"), *choices])
        describe_fields(self)

    @property
    def possible(self) -> bool:
        """Whether there is a predictor to choose."""
        return bool(self._lines)

    def clean(self) -> dict[str, Any]:
        """Reject descriptions that the run would reject later."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if self.errors:
            return data
        if data["first"] == data["second"]:
            self.add_error("second", "A predictor agrees with itself: choose another one, or none.")
        elif data["second"]:
            self._check_difference(data)
        return data

    def _check_difference(self, data: Mapping[str, Any]) -> None:
        lines = [self._lines[data[name]] for name in ("first", "second")]
        answers = [line.answer for line in lines if line.answer is not None]
        interest = InterestSettings(**self.stated(InterestSettings))
        verdict = Disagreement(interest).verdict(answers)
        if verdict.interesting:
            return
        if any(line.cycles is None for line in lines):
            self.add_error(None, "Where one of two has no number, only a crash counts as a difference.")
        else:
            unit = " cycles" if interest.metric == ABSOLUTE else ""
            complaint = f"They differ by {verdict.value:.3g}{unit}; only more than the number here counts."
            self.add_error("threshold", complaint)

    def config(self) -> Json:
        """The description of the run; the form must be valid."""
        data = self.cleaned_data
        names = [data["first"], *filter(None, [data["second"]])]
        return {
            "predictors": [int(name) for name in names],
            "isa": self._block.isa,
            "block": body_of(self._block.code, self._block.isa).hex(),
            "settings": self.stated(InterestSettings) | self.stated(SearchSettings),
            **self.stated(),
        }


PRESENTATIONS = {"generalise": KindPresentation(outcomes=campaigns_of)}
PANELS = (
    PagePanel(
        PanelPlace.BLOCK, "explain", "Generalise", "anica/explanations/section.html", context_of, press
    ),
)
