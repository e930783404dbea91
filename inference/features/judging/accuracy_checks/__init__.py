"""How good predictors are on a machine: blocks of a set measured there, and everything that predicts them."""

from inference.runs.kinds import Lane, RunKind
from inference.web.menus import MenuEntry, MenuPlace

KINDS = (
    RunKind(
        "accuracy-check",
        label="Accuracy check",
        job="inference.features.judging.accuracy_checks.job.AccuracyCheckJob",
        summary="How good core model, mappings and tools are on a machine",
        example={"machine": 1, "block_set": 6, "blocks": 500, "seed": 1},
        lane=Lane.MEASURING,
        words="inference.features.judging.accuracy_checks.query.words",
        outcomes="inference.features.judging.accuracy_checks.query.checks_of",
    ),
)

OPERATIONS = (("/accuracy-checks", "api"),)

MENUS = (
    MenuEntry(
        MenuPlace.MACHINE,
        "Check accuracy …",
        "accuracy-check-new",
        "How good its core model, its mappings and all tools predict blocks that are measured on it",
        "chart",
    ),
)
