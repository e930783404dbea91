"""An example of a run's description for each kind of AnICA: in the reference, and checked by a test."""

from __future__ import annotations

from inference.core.protocols import Json

CONFIGS: dict[str, Json] = {
    "campaign": {
        "predictors": [2, 5],
        "preset": "tools",
        "settings": {"samples": 50, "threshold": 0.5},
        "end": {"minutes": 10},
        "scheme_filter": "-ext:AVX512",
        "excluded": [31],
        "seed": 1,
    },
    "generalise": {"predictors": [2, 5], "block": "480fbcc3", "settings": {"metric": "relative"}},
    "ask": {"predictors": [2, 5], "blocks": ["4801d8480fafc3"], "anew": False},
    "matrix": {"predictors": [2, 5], "blocks": 2000, "length": 4, "interest": {"threshold": 0.5}},
    "coverage": {"campaigns": [4], "block_set": 6, "columns": ["one", "two"], "interest": {"threshold": 0.5}},
    "columns": {"block_set": 6, "predictors": [2, 5]},
    "accuracy": {"block_set": 6, "reference": 8},
    "comparison": {"experiment_set": 3, "mappings": [7], "predictors": [2], "most": 20_000, "seed": 1},
    "llvm-difference": {"mapping": 7, "cpu": "haswell", "tolerance": 0.2},
    "loops": {"upload": 5, "functions": "mat*"},
    "import-anica": {"upload": 5, "name": "BHive on Haswell", "broken": "skip", "numbers": "cycles"},
}
