from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from inference.core.errors import InvalidInputError
from inference.core.pmevo import PMEvoProblem, PMEvoSettings
from inference.core.pmevo.settings import PRESETS


def test_every_setting_has_a_help_line_and_the_papers_value() -> None:
    for entry in dataclasses.fields(PMEvoSettings):
        assert entry.metadata["help"].endswith((".", "none."))
        assert "paper" in entry.metadata


def test_text_from_forms_and_the_shell_is_understood() -> None:
    parsed = PMEvoSettings.parse({"ports": "9", "r_max": "4", "volume_weight": " 0.5 ", "scaling": "zero"})
    assert parsed == PMEvoSettings(ports=9, r_max=4.0, volume_weight=0.5, scaling="zero")


@pytest.mark.parametrize("text", ["", "none", "None"])
def test_an_absent_bottleneck_can_be_written(text: str) -> None:
    assert PMEvoSettings.parse({"r_max": text}).r_max is None


def test_settings_survive_json() -> None:
    settings = PMEvoSettings(ports=5, r_max=3.5)
    assert PMEvoSettings.parse(settings.as_json()) == settings


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match="'population'"):
        PMEvoSettings.parse({"poplation": "5"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ports", 0),
        ("ports", 64),
        ("ports", "many"),
        ("ports", True),
        ("population", 1),
        ("population", 2.5),
        ("max_generations", -1),
        ("convergence", float("nan")),
        ("congruence_epsilon", -0.1),
        ("r_max", 0),
        ("r_max", "wide"),
        ("volume_weight", float("inf")),
        ("scaling", "log"),
        ("duplicates", ""),
        ("climb_share", 1.5),
        ("threads", -1),
    ],
)
def test_a_value_outside_its_domain_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=name):
        PMEvoSettings.parse({name: value})


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS.keys())
def test_presets_are_settings(preset: Mapping[str, str]) -> None:
    parsed = PMEvoSettings.parse(preset).as_json()
    assert {name: str(parsed[name]).removesuffix(".0") for name in preset} == preset


def test_the_paper_s_preset_sets_every_number_that_the_paper_gives() -> None:
    parsed = PMEvoSettings.parse(PRESETS["paper"])
    for entry in dataclasses.fields(PMEvoSettings):
        if isinstance(entry.metadata["paper"], int | float):
            assert getattr(parsed, entry.name) == entry.metadata["paper"]


@pytest.mark.parametrize("schemes", [(), ("a", "a")])
def test_a_problem_needs_schemes_that_differ(schemes: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError, match="scheme"):
        PMEvoProblem(schemes, PMEvoSettings())
