"""Descriptions of AnICA's runs may come from any program as well: they are refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from anica_app.core.search.settings import Termination
from anica_app.features.campaigns.request import CampaignConfig
from anica_app.features.coverage.job import CoverageConfig
from anica_app.features.explanations.job import GeneraliseConfig
from anica_app.features.families.request import FamiliesConfig
from anica_app.features.matrices.job import MatrixConfig
from anica_app.models import Campaign, Discovery
from anica_app.storage.descriptions import GROUPS
from inference.core.protocols import Json
from inference.features.asking.block_files.request import BlockImportConfig, LoopsConfig
from inference.features.judging.accuracy_checks.request import AccuracyCheckConfig
from inference.features.judging.comparing.job import SetPair
from inference.features.judging.engine.request import ComparisonConfig, JudgeConfig
from inference.features.judging.findings.llvm_job import DifferenceConfig
from inference.models import BasicBlockSet, BlockColumn, ExperimentSet, PortMapping, Predictor, Run, Upload
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.runs.kinds import RUN_KINDS, RunKind, job
from inference.storage.mappings import load_mapping
from tests.features.test_odd_descriptions import ODD, PYDANTIC
from tests.rows.library import experiment_set, isa, mapping
from tests.rows.programs import Program, program
from tests.simulated import simulated_machine

__all__ = ["experiment_set", "isa", "mapping", "program"]

BEYOND: tuple[Any, ...] = (
    *ODD,
    *(False, 0, 5, 2**63 - 1, "a\0b", "\ud800", [-(2**70)], [1.0], [[1]], [{"a": 1}], ["90", 5], [[], {}]),
    *({"upload": []}, {"abstract": {}}, [{"abstract": {"instructions": 5}}], [{"abstract": {}}]),
    [{"discovery": [1], "abstract": {"instructions": [], "aliasing": []}}],
)


def names_of(shape: type) -> list[str]:
    """The fields of a description."""
    return [each.name for each in fields(shape)] if is_dataclass(shape) else list(shape.model_fields)


@pytest.fixture
def good(experiment_set: ExperimentSet, mapping: PortMapping) -> dict[str, tuple[Json, list[str]]]:
    """{kind: (a description that is a good one, all fields)}."""
    tools = [Predictor.objects.create(name=name, kind="command", key=name * 64).pk for name in "ab"]
    blocks = BasicBlockSet.objects.create(name="blocks", size=0)
    column = BlockColumn.objects.create(block_set=blocks, position=0, name="one")
    campaign = Campaign.objects.create(name="c", origin="run")
    other_set = ExperimentSet.objects.create(name="another", isa=experiment_set.isa, origin="upload")
    upload = Upload.objects.create(file_name="a.csv", beginning=b"", sha256="0" * 64)
    one_block = BasicBlockSet.objects.create(name="one block", size=1)
    measured_there = {"machine": simulated_machine(mapping.isa, load_mapping(mapping)).pk}
    described: dict[str, tuple[Json, Any]] = {
        "campaign": ({"predictors": tools}, CampaignConfig),
        "generalise": ({"predictors": tools, "block": "4801d8"}, GeneraliseConfig),
        "matrix": ({"predictors": tools, "block_set": blocks.pk}, MatrixConfig),
        "coverage": (
            {"campaigns": [campaign.pk], "block_set": blocks.pk, "columns": ["one"]},
            CoverageConfig,
        ),
        "llvm-difference": ({"mapping": mapping.pk, "cpu": "haswell"}, DifferenceConfig),
        "families": ({"campaign": campaign.pk}, FamiliesConfig),
        "accuracy-check": ({**measured_there, "block_set": one_block.pk}, AccuracyCheckConfig),
        "judge": (
            {"experiment_set": experiment_set.pk, "sources": [f"mapping:{mapping.pk}"]},
            JudgeConfig,
        ),
        "compare-sets": ({"first": experiment_set.pk, "second": other_set.pk}, SetPair),
        "comparison": ({"experiment_set": experiment_set.pk, "mappings": [mapping.pk]}, ComparisonConfig),
    }
    return {
        **{kind: (config, names_of(shape)) for kind, (config, shape) in described.items()},
        "import-anica": ({"upload": upload.pk}, names_of(BlockImportConfig)),
        "loops": ({"upload": upload.pk}, names_of(LoopsConfig)),
        "ask": ({"predictors": tools, "blocks": ["90"]}, ["predictors", "blocks", "anew", "about"]),
        "columns": ({"block_set": blocks.pk, "predictors": tools}, ["block_set", "predictors"]),
        "accuracy": ({"block_set": blocks.pk, "reference": column.pk}, ["block_set", "reference"]),
    }


def _odd(good: dict[str, tuple[Json, list[str]]]) -> Iterator[tuple[str, Json]]:
    for kind, (config, names) in good.items():
        yield from ((kind, {**config, name: odd}) for name in (*names, "settings") for odd in BEYOND)
        yield from ((kind, {name: odd}) for name in names for odd in BEYOND)
    for odd in BEYOND:
        for kind in ("campaign", "generalise"):
            for group, settings in GROUPS.items():
                for each in fields(settings):
                    yield kind, {**good[kind][0], "settings": {each.name: odd}}
                    yield kind, {**good[kind][0], group: {each.name: odd}}
        for each in fields(Termination):
            yield "campaign", {**good["campaign"][0], "end": {each.name: odd}}
        for each in fields(GROUPS["interest"]):
            yield from (
                (kind, {**good[kind][0], "interest": {each.name: odd}}) for kind in ("matrix", "coverage")
            )
        for each in fields(GROUPS["space"]):
            yield "matrix", {**good["matrix"][0], "space": {each.name: odd}}


def _is_described(kind: RunKind) -> bool:
    """Whether its description is about blocks, predictors or campaigns."""
    rooms = ("anica_app.", "inference.features.asking.", "inference.features.judging.")
    elsewhere = ("block", "quick-block", "evaluate", "check-model")
    return type(kind.job()).__module__.startswith(rooms) and kind.name not in elsewhere


def test_an_odd_value_in_any_field_is_refused_or_taken(good: dict[str, tuple[Json, list[str]]]) -> None:
    assert good.keys() == {name for name, each in RUN_KINDS.items() if _is_described(each)}
    messages = []
    for kind, (config, _) in good.items():
        if kind != "llvm-difference":  # where there is no llvm-mca, the good one is refused as well
            job(kind).check(config)
    for kind, config in _odd(good):
        try:
            job(kind).check(config)
        except ConfigError as error:
            messages.append(str(error))
        except Exception as error:
            error.add_note(f"{kind}: {str(config)[:300]}")
            raise
    assert len(messages) > 4000
    assert [message for message in messages if PYDANTIC.search(message)] == []


@pytest.mark.parametrize(
    ("kind", "config", "says"),
    [
        (
            "ask",
            {"predictors": [[1]], "blocks": ["90"]},
            "predictors must be a list of 1 to 100 ids",
        ),
        ("matrix", {"predictors": [2**63 - 1, 1]}, "predictors: there is no predictor with the id"),
        ("matrix", {"predictors": [2**63, 1]}, "predictors: there is no predictor with the id"),
        ("campaign", {"preset": []}, "preset must be one of"),
        ("campaign", {"settings": {"features": 5}}, "features must be a text"),
        ("campaign", {"settings": {"groups": 5}}, "groups must be a text"),
        ("campaign", {"settings": {"failures": 5}}, "failures must be a text"),
        ("import-anica", {"upload": "abc"}, "upload must be a whole number"),
        ("import-anica", {"upload": []}, "upload must be a whole number"),
        ("llvm-difference", {"mapping": "abc", "cpu": "haswell"}, "mapping must be a whole number"),
    ],
)
def test_programs_are_told_what_is_wrong(
    program: Program, good: dict[str, tuple[Json, list[str]]], kind: str, config: Json, says: str
) -> None:
    described = {"kind": kind, "config": {**good[kind][0], **config}}
    for path, body in (("/runs/check", described), ("/runs", {**described, "name": "odd"})):
        status, answer = program("POST", path, body)
        assert status == 422, answer
        assert says in str(answer)
    assert not Run.objects.exists()


def test_a_question_about_anything_leaves_the_pages_as_they_are(
    client: Client, administrator: User, good: dict[str, tuple[Json, list[str]]]
) -> None:
    client.force_login(administrator)
    for number, odd in enumerate(BEYOND):
        if odd != odd or odd in (float("inf"), "\ud800", "a\0b"):  # no JSON, or no text of a database
            continue
        about = dict.fromkeys(("generalisation", "step", "asked", "block", "memory"), odd)
        run = lifecycle.submit("ask", {**good["ask"][0], "about": about}, f"about {number}")
        assert client.get(reverse("asked-blocks", args=[run.pk])).status_code == 200, about
    assert client.get(reverse("runs")).status_code == 200


def test_a_discovery_that_is_excluded_by_its_document_is_taken_as_it_is(
    good: dict[str, tuple[Json, list[str]]],
) -> None:
    document = {"instructions": [{"mnemonic": {"base": "add", "edits": 1}, "memory": []}], "aliasing": []}
    campaign = Campaign.objects.get()
    row = Discovery.objects.create(campaign=campaign, number=0, abstract=document, code=b"\x90", length=1)
    once = job("campaign").check({**good["campaign"][0], "excluded": [row.pk]})
    assert job("campaign").check(once) == once
