"""An example of a run's description for each kind: in the reference, and checked by a test.

Other apps add those of their kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.core.protocols import Json

CONFIGS: dict[str, Json] = {
    "infer": {
        "algorithm": "pmevo",
        "source": {"datasets": [3]},
        "ports": 6,
        "seed": 1,
        "settings": {"population": 200, "max_generations": 100},
    },
    "measure": {"machine": 2, "schemes": "starter", "plan": "pairs", "seed": 1},
    "check-model": {"machine": 2, "reference": 7, "mixes": 200, "sequences": 50},
    "block": {"machine": 2, "blocks": ["4801d8480fafc3"], "options": {"mode": "unrolled"}},
    "import": {"upload": 5, "name": "pairs on the lab machine", "unit": "cycles"},
    "compare-sets": {"first": 3, "second": 4},
    "merge-sets": {"sets": [3, 4], "name": "both halves", "conflicts": "median", "tolerance": 5.0},
    "evaluate": {"mapping": 7, "experiment_set": 3, "unit": "cycles"},
}


def register(configs: Mapping[str, Json]) -> None:
    """Add those of another app's kinds, {kind: config}; it does so when it is ready."""
    CONFIGS.update(configs)


def described(**more: str) -> list[Json]:
    """Of each kind a body that describes a run of it; in the texts of `more`, {kind} stands for the kind."""
    return [
        {
            "kind": kind,
            "config": config,
            **{name: text.format(kind=kind) for name, text in more.items()},
        }
        for kind, config in CONFIGS.items()
    ]
