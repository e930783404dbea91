"""What takes longer than a mapping allows: its tab, the API and the shell say the same."""

from __future__ import annotations

import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from inference.core.experiment import Experiment, Measured
from inference.core.mapping import PortMapping as Mapping
from inference.models import ExperimentSet, PortMapping
from inference.storage.instruction_sets import new_isa
from inference.storage.mappings import store_mapping
from inference.storage.rows import store_measurements
from tests.doors import printed

FP = Mapping(tuple("0123"), {"mul": ((0b0011, 1),), "add": ((0b1011, 1),), "shift": ((0b0100, 1),)})
MEASURED = (({"mul": 1, "add": 1}, 0.733), ({"mul": 1, "add": 2}, 1.1), ({"shift": 2}, 2.01))


@pytest.fixture
def mapping(db: None) -> PortMapping:
    isa = new_isa("toy", FP.usage, "a test")
    row = ExperimentSet.objects.create(name="mixes", isa=isa, origin=ExperimentSet.Origin.UPLOAD)
    store_measurements(row, [Measured(Experiment.of(terms), cycles) for terms, cycles in MEASURED])
    return store_mapping("mine", isa, FP, origin=PortMapping.Origin.IMPORT)


def test_the_tab_groups_what_takes_longer(visitor: Client, mapping: PortMapping) -> None:
    answer = visitor.get(reverse("mapping", args=[mapping.pk]), {"tab": "excess"})
    assert answer.status_code == 200
    ((cells, _),) = answer.context["rows"]
    assert [value for _, value in cells[:3]] == ["[0,1] and [0,1,3]", 2, 2]
    assert visitor.get(cells[4][1].url).status_code == 302, "the page of the experiment"
    assert answer.context["excess"].exceeding == 2


def test_programs_and_the_shell_are_told_the_same(visitor: Client, mapping: PortMapping) -> None:
    chosen = ExperimentSet.objects.get()
    told = visitor.get(f"/api/v1/mappings/{mapping.pk}/excess/{chosen.pk}").json()
    assert (told["experiments"], told["exceeding"]) == (3, 2)
    assert told["groups"][0]["port_sets"] == [["0", "1"], ["0", "1", "3"]]
    said = json.loads(printed("excess", "mine", "--dataset", "mixes", "--json"))
    assert said["groups"][0]["median"] == told["groups"][0]["median"]
    judged = printed("judge", "mapping:mine", "--view", "excess", "--against", "set:mixes", "--json")
    assert json.loads(judged) == said
    shown = printed("excess", "mine", "--dataset", "mixes")
    assert shown.startswith("2 of 3 experiments take longer than mine predicts")
    assert re.search(r"\[0,1\] and \[0,1,3\] +2 +2 ", shown)


def test_a_set_of_other_instructions_is_refused(visitor: Client, mapping: PortMapping) -> None:
    other = new_isa("other", ["x"], "a test")
    stranger = ExperimentSet.objects.create(name="theirs", isa=other, origin=ExperimentSet.Origin.UPLOAD)
    assert (
        visitor.get(reverse("mapping", args=[mapping.pk]), {"tab": "excess", "set": stranger.pk}).status_code
        == 404
    )
    assert visitor.get(f"/api/v1/mappings/{mapping.pk}/excess/{stranger.pk}").status_code == 404
    with pytest.raises(CommandError, match="is for other"):
        call_command("excess", "mine", "--dataset", "theirs")


def test_without_measurements_the_tab_says_so(visitor: Client, mapping: PortMapping) -> None:
    ExperimentSet.objects.all().delete()
    answer = visitor.get(reverse("mapping", args=[mapping.pk]), {"tab": "excess"})
    assert "no measurements" in answer.content.decode()
