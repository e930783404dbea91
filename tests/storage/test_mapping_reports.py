"""What a mapping's report may hold when it comes from another site: pages look into it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from inference.formats.run_archive import ArchivedMapping
from inference.storage.run_archive_storing import MappingReport


@pytest.mark.parametrize(
    "damage",
    [
        {"assumptions": 5},
        {"assumptions": [1]},
        {"excess": "many"},
        {"excess": -1},
        {"loop_code": [[100, 350]]},
        {"loop_code": [[0, 350, 14.0]]},
        {"loop_code": [[100, 350, -1.0]]},
        {"loop_code": {"100": 14.0}},
    ],
)
def test_what_a_page_could_not_show_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MappingReport.model_validate_json(json.dumps(damage))


def test_what_a_search_goes_by_is_taken_over() -> None:
    report = {"assumptions": ["fewer µops"], "excess": 3, "loop_code": [[100, 350, 14.0]]}
    told = MappingReport.model_validate_json(json.dumps(report))
    assert (told.assumptions, told.excess) == (["fewer µops"], 3)
    assert told.loop_code == [(100, 350, 14.0)]


POINT = {"place": 0, "error": 0.1, "volume": 3, "kinds": 2, "mapping": {}}
HEAT_MAP = {"bins": 1, "limit": 2.0, "n": 0, "outside": 0, "counts": [[0]]}
EVALUATION = {"experiment_set": 1, "unit": "cycles", "n": 0, "heat_map": HEAT_MAP}


@pytest.mark.parametrize(
    ("field", "one", "another", "said"),
    [
        ("front", POINT, {"place": 1}, "two points of the front"),
        ("evaluations", EVALUATION, {"unit": "ipc"}, "two evaluations"),
    ],
)
def test_a_mapping_tells_everything_once(
    field: str, one: dict[str, Any], another: dict[str, Any], said: str
) -> None:
    mapping = {"id": 1, "name": "found", "isa": "x86-64"}
    ArchivedMapping.model_validate(mapping | {field: [one, one | another]})
    with pytest.raises(ValidationError, match=said):
        ArchivedMapping.model_validate(mapping | {field: [one, one]})
