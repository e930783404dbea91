"""A small directory such as the published AnICA writes, to be broken in one place at a time."""

from __future__ import annotations

import copy
import json
import sqlite3
from pathlib import Path
from typing import Any

FEATURES = {
    "exact_scheme": "$InsnScheme:add RW:GPR:64, R:GPR:64",
    "mnemonic": {"top": False, "base": "add", "curr_dist": 0, "max_dist": 3},
    "opschemes": ["RW:GPR:64", "R:GPR:64", "W:flag_cf"],
    "memory_usage": {"subfeature": [], "is_in_subfeature": False},
    "uops_on_SKL": {"val": 1, "max_ub": 5},
    "category": "BINARY",
    "extension": "BASE",
    "isa-set": "I86",
    "has_lock": False,
    "has_rep": False,
}
PAIR = [[0, ["$OperandKind:1", "reg0"]], [0, ["$OperandKind:1", "reg1"]]]
START = {"abs_insns": [FEATURES], "abs_aliasing": {"aliasing_dict": [[PAIR, False]], "is_bot": False}}
RESULT = {
    "abs_insns": [
        {
            **FEATURES,
            "exact_scheme": "$SV:TOP",
            "mnemonic": {"top": True, "base": "add", "curr_dist": 4, "max_dist": 3},
        }
    ],
    "abs_aliasing": {"aliasing_dict": [[PAIR, "$SV:TOP"]], "is_bot": False},
}
CONFIG = {
    "predictors": ["one", "two"],
    "abstraction_config": {
        "interestingness_metric": {"min_interestingness": 0.5, "min_interestingness.doc": "at least that"},
        "discovery": {"discovery_batch_size": 2, "generalization_batch_size": 3},
    },
}


def step(expansion: Any, *, taken: bool, series: int | None = None, comment: str | None = None) -> Any:
    """A step of a witness."""
    ends = expansion is None
    return {
        "expansion": expansion,
        "taken": taken,
        "terminate": ends,
        "comment": comment,
        "measurements": series,
    }


STEPS = [
    step([0, 0, ["exact_scheme", "$SV:TOP"]], taken=True),
    step([0, 0, ["mnemonic", 4]], taken=True, series=4),
    step([0, 0, ["opschemes", "R:GPR:64"]], taken=False, series=5),
    step([1, [PAIR, "$SV:TOP"]], taken=True, series=6),
    step(None, taken=False, comment="No more expansions remain."),
]
LABEL = "b000_i000_g000"
DOCUMENTS: dict[str, Any] = {
    "campaign_config.json": CONFIG,
    "report.json": {
        "seconds_passed": 7.5,
        "per_batch_stats": [
            {
                "num_sampled": 2,
                "num_interesting": 1,
                "per_interesting_sample_stats": [
                    {
                        "per_generalization_stats": [
                            {"id": LABEL, "generalization_time": 1.5, "subsumes": ["b000_i000_g001"]},
                            {
                                "id": "b000_i000_g001",
                                "witness_len": 9,
                                "already_found": False,
                                "subsumes": [],
                            },
                        ]
                    }
                ],
            }
        ],
    },
    "metrics.json": {LABEL: {"mean_interestingness": float("inf"), "subsumed_by": None}},
    f"discoveries/{LABEL}.json": {
        "config": {},
        "ab": RESULT,
        "result_ref": 6,
        "remarks": [["strategy: {}", "random"], "done"],
    },
    f"witnesses/{LABEL}.json": {"config": {}, "trace": {"start": START, "trace": STEPS}},
}
SERIES = {1: 2, 2: 1, 3: 3, 4: 3, 5: 3, 6: 3}
"""Sizes: a round, a minimisation, the check of the start, and three decisions."""
_UNINTERESTING = 5


def documents() -> dict[str, Any]:
    """A copy that a test may change."""
    return copy.deepcopy(DOCUMENTS)


def write_directory(top: Path, files: dict[str, Any] | None = None) -> Path:
    """Write a directory with these documents and the measurements."""
    for name, content in (DOCUMENTS if files is None else files).items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    write_measurements(top / "measurements.db")
    return top


def write_measurements(path: Path) -> None:
    """Six series; of the fifth one block is not interesting, and the second tool crashes on one block."""
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE series (series_id INTEGER NOT NULL PRIMARY KEY, source_computer TEXT NOT NULL, "
            "timestamp INTEGER NOT NULL);"
            "CREATE TABLE measurements (measurement_id INTEGER NOT NULL PRIMARY KEY, "
            "series_id INTEGER NOT NULL, input TEXT NOT NULL);"
            "CREATE TABLE predictor_runs (predrun_id INTEGER NOT NULL PRIMARY KEY, "
            "measurement_id INTEGER NOT NULL, predictor TEXT NOT NULL, result REAL, remark TEXT);"
        )
        measurement = 0
        for series, size in SERIES.items():
            connection.execute("INSERT INTO series VALUES (?, 'box', 1700000000)", (series,))
            for place in range(size):
                measurement += 1
                connection.execute(
                    "INSERT INTO measurements VALUES (?, ?, ?)", (measurement, series, f"48{place:02x}d8")
                )
                second: float | None = 1.0 if series == _UNINTERESTING and place == 0 else 3.0
                remark = json.dumps({"TP": second, "rt": 0.25})
                if (series, place) == (6, 2):
                    second, remark = None, json.dumps({"error": "failed:\n Stack dump", "rt": 0.5})
                for tool, result, said in (("one", 1.0, '{"rt": 0.125}'), ("two", second, remark)):
                    connection.execute(
                        "INSERT INTO predictor_runs VALUES (NULL, ?, ?, ?, ?)",
                        (measurement, tool, result, said),
                    )
    connection.close()
