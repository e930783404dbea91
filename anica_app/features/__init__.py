"""One package per feature, as in `inference.features`."""

from __future__ import annotations

from anica_app.features import campaigns, coverage, discoveries, explanations, families, importing, matrices
from inference.features import register

FEATURES = {
    campaigns: "Campaigns",
    discoveries: "Discoveries",
    explanations: "Basic blocks",
    importing: "",
    coverage: "What campaigns explain",
    families: "Families",
    matrices: "Tool × tool matrices",
}
"""Each with the heading of its operations in the reference of the API; "" for none."""


def register_all() -> None:
    register(FEATURES)
