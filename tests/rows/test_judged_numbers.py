"""No page shows an error in per cent without its verdict, or without what it is compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from inference.models import Evaluation, ExperimentSet, PortMapping
from inference.storage.evaluations import judgement_of
from inference.storage.instruction_sets import CORE

PAGES = (
    ("start", ()),
    ("mappings", ()),
    ("resource-mappings", ()),
    ("sets", ()),
    ("comparisons", ()),
    ("block-sets", ()),
    ("runs", ()),
    ("core-models", ()),
    ("mapping", ("mapping_id",)),
    ("resource-mapping", ("resource_mapping_id",)),
    ("set", ("set_id",)),
    ("machine", ("machine_id",)),
    ("machine-trust", ("machine_id",)),
    ("scheme", ("scheme_id",)),
    ("experiment", ("experiment_id",)),
    ("core-model", ("core_model_id",)),
    ("block-set", ("block_set_id",)),
    ("comparison", ("comparison_id",)),
    ("comparison", ("accuracy_check_id",)),
    ("comparison", ("matrix_id",)),
    ("run", ("run_id",)),
    ("run", ("check_id",)),
)
TABS = {
    "mapping": ("graph", "accuracy", "schemes", "doubts", "excess", "compare"),
    "block-set": ("blocks", "columns", "accuracy"),
}
PERCENT = re.compile(r"\d\s%")
ERROR = re.compile(r"\b(?:MAPE|[Ee]rrors?|off|[Rr]esidual|[Dd]ifference|[Dd]eviation|[Ee]xcess)\b")
REFERENCE = re.compile(r"\b(?:[Mm]easured|[Ee]xpected|[Rr]eference|[Pp]redicted|[Cc]ompared)\b")
VERDICT = re.compile(r"grade-|not-judged")
VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
VOID |= {"rect", "path", "use", "line", "circle", "stop"}


@dataclass
class Element:
    """An element of a page; `words`: its own text."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    words: str = ""

    @property
    def text(self) -> str:
        return " ".join([self.words, *(child.text for child in self.children)])

    def all(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            yield from child.all()

    def up(self, *tags: str) -> Element | None:
        at: Element | None = self
        while at is not None and at.tag not in tags:
            at = at.parent
        return at

    @property
    def has_verdict(self) -> bool:
        return any(
            VERDICT.search(element.attributes.get("class", ""))
            or "compared" in element.attributes.get("class", "").split()
            for element in self.all()
        )


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = self.at = Element("", {})
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_endtag(self, tag: str) -> None:
        at: Element | None = self.at
        while at is not None and at.tag != tag:
            at = at.parent
        if at is not None and at.parent is not None:
            self.at = at.parent

    def handle_data(self, data: str) -> None:
        self.at.words += data


def unjudged(text: str) -> list[str]:
    """The errors of a page that have neither a verdict nor a reference beside them."""
    return [
        " ".join(element.text.split())[:100]
        for element in Page(text).root.all()
        if element.tag not in ("script", "title", "style")
        and PERCENT.search(element.words)
        and not _is_judged(element)
    ]


def _is_judged(element: Element) -> bool:
    cell, fact = element.up("td", "th"), element.up("dd")
    if cell is not None and cell.parent is not None:
        table = cell.up("table")
        assert table is not None
        heads = " ".join(head.text for head in table.all() if head.tag == "thead")
        label = f"{cell.attributes.get('data-label', '')} {cell.text}"
        beside = cell.up("section", "main", "div") or table
        return (
            not ERROR.search(label)
            or cell.parent.has_verdict
            or any(child.attributes.get("title") for child in cell.all())
            or len(set(REFERENCE.findall(heads))) > 0
            or any("compared" in child.attributes.get("class", "") for child in beside.all())
        )
    if fact is not None and fact.parent is not None:
        return (
            not ERROR.search(fact.parent.text)
            or fact.parent.has_verdict
            or bool(REFERENCE.search(fact.parent.text))
        )
    around = element.up("li", "p", "figcaption", "figure", "section") or element
    return not ERROR.search(around.text) or around.has_verdict or bool(REFERENCE.search(around.text))


@pytest.mark.parametrize(
    ("name", "of"), PAGES, ids=lambda value: value if isinstance(value, str) else "-".join(value)
)
def test_an_error_has_a_verdict_or_what_it_is_compared_with(
    visitor: Client, world: dict[str, int], name: str, of: tuple[str, ...]
) -> None:
    address = reverse(name, args=[world[key] for key in of])
    for tab in TABS.get(name, ("",)):
        response = visitor.get(f"{address}?tab={tab}" if tab else address, follow=True)
        assert response.status_code == 200
        assert not unjudged(response.content.decode()), tab


def test_the_rule_finds_a_naked_error() -> None:
    assert unjudged("<dl><div><dt>MAPE</dt><dd>12.74 %</dd></div></dl>")
    assert not unjudged(
        '<dl><div><dt>MAPE</dt><dd>12.74 %</dd><dd class="grade-usable">Usable</dd></div></dl>'
    )
    assert unjudged('<table><tr><td data-label="Error">199.9 %</td></tr></table>')


def test_measurements_of_another_core_are_not_judged(
    visitor: Client, mapping: PortMapping, experiment_set: ExperimentSet, evaluation: Evaluation
) -> None:
    """An evaluation on a Zen 5 says nothing of a mapping of a Zen 4."""
    PortMapping.objects.filter(pk=mapping.pk).update(report={CORE: "Zen 4"})
    ExperimentSet.objects.filter(pk=experiment_set.pk).update(making={CORE: "Zen 5"})
    stored = Evaluation.objects.get(pk=evaluation.pk)
    judgement = judgement_of(stored)
    assert judgement.grade is None
    assert judgement.reasons == ("measurements of another core (Zen 5); the predictor is of Zen 4",)
    for address in (
        reverse("mappings"),
        reverse("mapping", args=[mapping.pk]),
        reverse("set", args=[experiment_set.pk]),
    ):
        text = visitor.get(address).content.decode()
        assert "Not judged" in text, address
        assert "another core (Zen 5)" in text, address
    tab = visitor.get(reverse("mapping", args=[mapping.pk]), {"tab": "accuracy"}).content.decode()
    assert "another core (Zen 5)" in tab


def test_errors_on_a_cpu_that_is_not_recorded_may_be_those_of_another_one(evaluation: Evaluation) -> None:
    evaluation.n, evaluation.mape, evaluation.skipped = 900, 199.9, 0
    judgement = judgement_of(evaluation)
    assert judgement.word == "wrong"
    assert judgement.reasons[-1] == "on which CPU it was measured is not recorded: it may be another one"
