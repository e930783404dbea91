"""One package per feature, as in `inference.features`."""

from __future__ import annotations

from importlib import import_module

from inference.features import register_events
from inference.runs import kinds
from inference.web.api import registry

FEATURES = (
    "predictors",
    "questions",
    "campaigns",
    "discoveries",
    "block_sets",
    "coverage",
    "families",
    "matrices",
    "comparisons",
    "accuracy_checks",
    "llvm_difference",
)

OPERATIONS = (
    ("", "questions.api", "Basic blocks"),
    ("/predictors", "predictors.api", "Predictors"),
    ("/campaigns", "campaigns.api", "Campaigns"),
    ("/campaigns", "campaigns.parts_api", "Campaigns"),
    ("/campaign-comparisons", "campaigns.comparison_api", "Campaigns"),
    ("/discoveries", "discoveries.api", "Discoveries"),
    ("/discoveries", "discoveries.trees_api", "Discoveries"),
    ("/block-sets", "block_sets.api", "Basic-block sets"),
    ("/block-sets", "block_sets.accuracy_api", "Basic-block sets"),
    ("/block-sets", "block_sets.gate_api", "Basic-block sets"),
    ("", "families.api", "Families"),
    ("/coverages", "coverage.api", "What campaigns explain"),
    ("/matrices", "matrices.api", "Tool × tool matrices"),
    ("/predictor-comparisons", "comparisons.api", "Predictor comparisons"),
    ("/accuracy-checks", "accuracy_checks.api", "Accuracy checks"),
    ("/llvm-differences", "llvm_difference.api", "Port mappings"),
)
"""(where they answer, module, heading) of the operations of the API, in the order of its reference."""


def register_all() -> None:
    """Tell the engine of runs which kinds of runs and of events there are, and the API which operations."""
    for feature in FEATURES:
        kinds.register(getattr(import_module(f"{__name__}.{feature}"), "KINDS", ()))
        register_events(f"{__name__}.{feature}")
    for prefix, module, heading in OPERATIONS:
        registry.register(prefix, f"{__name__}.{module}.router", heading)
