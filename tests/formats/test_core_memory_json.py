"""What is known of a core's memory travels with its core model; older files say nothing of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from inference.core.core_model import MemoryTimes
from inference.core.core_model.model import RenamingConditions, StoreCurve
from inference.formats.core_model_json import core_model_json, read_core_model
from inference.formats.problems import ExchangeError
from tests.formats.exports import CORE

MEMORY = MemoryTimes(
    {(64, 64, 0, False): 0.0},
    renaming=RenamingConditions(
        stores_between=12,
        forgotten_pairs=44,
        forgotten_updates=None,
        forwarded={(64, 64, 0, False): 7.0},
        update=7.0,
        learned_update=1.0,
        overtaken=16.0,
    ),
    stores={64: StoreCurve(((1, 0.5), (12, 0.5), (13, 1.04))), 512: StoreCurve(((1, 1.0),))},
)


def written(memory: MemoryTimes) -> dict:
    return core_model_json(replace(CORE, memory=memory), name="mine", isa="x86-64")


def test_it_is_read_back_as_it_was():
    document = json.dumps(written(MEMORY))
    assert read_core_model(document).model().memory == MEMORY


def test_a_file_of_a_core_of_which_it_is_not_known_says_nothing_of_it():
    assert not {"renaming", "stores"} & written(CORE.memory)["memory"].keys()
    assert read_core_model(json.dumps(written(CORE.memory))).model().memory == CORE.memory


@pytest.mark.parametrize(
    "change",
    [
        {"renaming": {"stores_between": -1}},
        {"renaming": {"forgotten_pairs": 0}},
        {"stores": [{"bits": 64, "in_turn": []}]},
        {"stores": [{"bits": 64, "in_turn": [[1]]}]},
        {"stores": [{"bits": 64, "in_turn": [[1, -0.5]]}]},
    ],
)
def test_what_no_core_can_do_is_refused(change: dict):
    document = written(CORE.memory)
    document["memory"] |= change
    with pytest.raises(ExchangeError, match="memory"):
        read_core_model(json.dumps(document))
