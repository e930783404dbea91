"""Abstract blocks and configurations of AnICA without their directory."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from anica_app.features.campaigns.form import SETTING
from anica_app.formats.anica_alone import is_document, read_documents, settings_in
from anica_app.models import Campaign
from inference.formats.problems import ExchangeError
from tests.anica.formats.published import RESULT, START

ABSTRACTION = {
    "interestingness_metric": {"min_interestingness": 0.1, "mostly_interesting_ratio": 0.97},
    "discovery": {
        "discovery_batch_size": 20,
        "discovery_possible_block_lengths": [1, 2, 7],
        "generalization_batch_size": 50,
        "generalization_strategy": [["random", 3], ["max_benefit", 1]],
        "generalization_strategy.doc": "how",
    },
}
TO_RUN = {
    "abstraction_config_path": "../abstraction/default.json",
    "predictors": ["llvm-mca.13", "iaca"],
    "termination": {"hours": 1, "minutes": 20, "num_discoveries": 10},
}


def document(content: Any) -> bytes:
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    "content", [START, {"config": ABSTRACTION, "ab": START}, {"ab": RESULT, "remarks": None}]
)
def test_an_abstract_block_is_a_discovery(content: Any) -> None:
    assert is_document(document(content))
    (rows,) = read_documents(document(content), "block.json")
    (discovery,) = rows.discoveries
    assert (rows.campaign.kind, rows.campaign.name, rows.predictors) == ("generalisation", "block", [])
    assert discovery.foreign == content.get("ab", content)
    assert discovery.abstract is not None


def test_an_abstract_block_beyond_our_words_is_kept_as_it_was() -> None:
    foreign = START | {"abs_aliasing": {"aliasing_dict": [], "is_bot": True}}
    (rows,) = read_documents(document(foreign), "block.json")
    assert (rows.discoveries[0].abstract, rows.discoveries[0].foreign) == (None, foreign)
    assert "no block belongs to" in rows.campaign.facts["unsayable"]["block"]


def test_a_configuration_has_our_settings() -> None:
    (rows,) = read_documents(document(ABSTRACTION), "final.json")
    assert rows.campaign.config["abstraction_config"]["discovery"]["discovery_batch_size"] == 20
    assert settings_in(rows.campaign.config) == {
        "search": {"samples": 50, "batch": 20, "longest": 7, "orders": 4, "exceptions": 0.03},
        "interest": {"threshold": 0.1},
        "end": {},
    }
    first, second = read_documents(
        document([TO_RUN, {"TEMPLATE:all_predictor_pairs": ["a", "b"]}]), "todo.json"
    )
    assert [tool.name for tool in first.predictors] == ["llvm-mca.13", "iaca"]
    assert settings_in(first.campaign.config)["end"] == {"minutes": 80, "discoveries": 10}
    assert (first.campaign.name, second.campaign.name, second.predictors) == ("todo 1", "todo 2", [])


@pytest.mark.parametrize(
    "odd", [{}, {"discovery": 3}, {"discovery": {"generalization_strategy": [[], 3, ["x"]]}}]
)
def test_odd_configurations_say_nothing(odd: Any) -> None:
    assert settings_in({"abstraction_config": odd}) == {"search": {}, "interest": {}, "end": {}}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"abs_insns": [], "abs_aliasing": {"aliasing_dict": []}}, "an abstract block"),
        ({"ab": {"abs_insns": 3}}, "an abstract block"),
        ({"predictors": ["a", "a"], "abstraction_config": {}}, "each once"),
        ([3, {"abstraction_config": {}}], "no document of AnICA that stands alone"),
        ([TO_RUN] * 201, "at most 200 campaigns"),
        ({"abstraction_config": {}}, "no document of AnICA that stands alone"),
    ],
)
def test_what_is_no_such_document_is_refused(content: Any, fault: str) -> None:
    with pytest.raises(ExchangeError, match=fault):
        read_documents(document(content), "x.json")


@pytest.mark.django_db
def test_the_shell_imports_them_and_a_campaign_begins_with_their_settings(
    client: Client, administrator: Any, tmp_path: Path
) -> None:
    path, out = tmp_path / "final.json", io.StringIO()
    path.write_bytes(document(ABSTRACTION))
    call_command("import", str(path), stdout=out)
    assert "a configuration alone" in out.getvalue()
    row = Campaign.objects.get(name="final")
    client.force_login(administrator)
    page = client.get(reverse("campaign", args=[row.pk])).content.decode()
    assert "the file is a configuration alone" in page
    form = client.get(reverse("campaign-new"), {"from": row.pk}).context["form"]
    assert form[f"{SETTING}samples"].value() == 50
    path.write_bytes(document({"ab": START}))
    call_command("import", str(path), "--name", "one block", stdout=out)
    discovery = Campaign.objects.get(name="one block").discoveries.get()
    page = client.get(reverse("discovery", args=[discovery.pk])).content.decode()
    assert "No blocks of it were sampled" in page
    path.write_bytes(document({"ab": {"abs_insns": 3}}))
    with pytest.raises(CommandError, match="an abstract block"):
        call_command("import", str(path), "--name", "broken", stdout=out)
