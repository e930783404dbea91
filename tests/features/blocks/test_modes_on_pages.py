"""A number of cycles of a block stands on no page without the mode that it is for."""

from __future__ import annotations

import re
from pathlib import Path

from django.conf import settings

from inference.web.contributions import PanelPlace, contributed

TEMPLATES = Path(settings.BASE_DIR) / "templates"
_CYCLES = re.compile(r"\bcycles\b", re.IGNORECASE)
_MODE = re.compile(r'\{% modes |in_mode_words|class="[^"]*\bmode\b[^"]*"')
_INCLUDED = re.compile(r'\{% include "([^"]+)"')
_TAB = re.compile(r"\{% include (?:tab_template|[\w.]*template) ")

EXPERIMENTS = "of experiments, which are always measured in a loop"
OTHER = {
    "inference/latencies/": "of chains, whose copies say by themselves how they are measured",
    "inference/front_end/": "of the front end, by the code that each line names",
    "inference/core_model/core_model.html": "of parts of the model, not of a block",
    "inference/core_model/scheduler.html": "of experiments of a scheduler, loops by their nature",
    "pmweb/doors.html": "of instructions, by experiments",
    "inference/loop/": "of sections below the verdict, which says it",
    "inference/experiments/": EXPERIMENTS,
    "inference/comparing/": EXPERIMENTS,
    "inference/evaluations/": EXPERIMENTS,
    "inference/findings/": EXPERIMENTS,
    "inference/explained/": EXPERIMENTS,
    "inference/inferring/": EXPERIMENTS,
    "inference/instruction/": EXPERIMENTS,
    "inference/machines/": EXPERIMENTS,
    "inference/mappings/schemes.html": EXPERIMENTS,
    "inference/resources/": EXPERIMENTS,
    "inference/runs/": EXPERIMENTS,
    "inference/schemes/": EXPERIMENTS,
    "inference/sets/": EXPERIMENTS,
    "inference/uploads/": "of files, which do not say how they were measured",
    "inference/blocks/instructions.html": "of the critical chain, not of the block",
    "inference/block_files/upload.html": "the word in an explanation",
    "inference/block_sets/list.html": "the word in an explanation",
    "inference/block_sets/doubts.html": "of a file that is looked at before it is imported",
    "inference/predictors/list.html": "the word in an explanation",
    "anica/families/numbers.html": "of predictors whose names have the mode",
    "inference/questions/ask.html": "the question, whose form has the mode",
}
"""{template, or directory: why its cycles need no mode}."""


def _texts() -> dict[str, str]:
    return {str(path.relative_to(TEMPLATES)): path.read_text() for path in TEMPLATES.rglob("*.html")}


_PAGES = {
    PanelPlace.MAPPING: "inference/mappings/mapping.html",
    PanelPlace.BELOW_MAPPING: "inference/mappings/mapping.html",
    PanelPlace.RESOURCE_MAPPING: "inference/resources/page.html",
    PanelPlace.MACHINE: "inference/machines/machine.html",
    PanelPlace.SCHEME: "inference/schemes/scheme.html",
    PanelPlace.PREDICTORS: "inference/predictors/list.html",
    PanelPlace.BLOCK_SET: "inference/block_sets/set.html",
    PanelPlace.BLOCK: "inference/questions/answers.html",
}
"""The template of each page that has panels."""


def _includers(name: str, texts: dict[str, str]) -> list[str]:
    directory = name.rpartition("/")[0]
    pages = [_PAGES[panel.page] for panel in contributed("PANELS") if panel.template == name]
    return pages + [
        other
        for other, text in texts.items()
        if name in _INCLUDED.findall(text)
        or (_TAB.search(text) and "/tab_" in name and other.startswith(f"{directory}/"))
    ]


def _says_mode(name: str, texts: dict[str, str], above: frozenset[str] = frozenset()) -> bool:
    """Whether a template says it, or each page that includes it does."""
    if _MODE.search(texts[name]) or name.startswith(tuple(OTHER)):
        return True
    others = [other for other in _includers(name, texts) if other not in above]
    return bool(others) and all(_says_mode(other, texts, above | {name}) for other in others)


def test_every_page_with_cycles_says_for_which_mode_they_are() -> None:
    texts = _texts()
    silent = [
        name
        for name, text in texts.items()
        if _CYCLES.search(text) and not name.startswith(tuple(OTHER)) and not _says_mode(name, texts)
    ]
    assert silent == []


def test_no_reason_outlives_its_page() -> None:
    texts = _texts()
    assert [place for place in OTHER if not any(name.startswith(place) for name in texts)] == []
