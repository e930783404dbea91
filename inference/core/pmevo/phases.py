"""The stages of a search, as runs and pages name them."""

from __future__ import annotations

from inference.core.pmevo.settings import PMEvoSettings

_ALWAYS = {
    "measuring": "Measure the experiments",
    "congruence": "Find schemes that behave alike",
}
_EVOLUTION = {"evolution": "Evolve port mappings"}
_SEARCHES = {
    "evolution": {**_EVOLUTION, "climb": "Climb to the nearest optimum"},
    "refit": {"refit": "Re-fit scheme by scheme"},
    "both": {**_EVOLUTION, "refit": "Re-fit scheme by scheme"},
}

_BOUNDED = {"bounded": "Find the fewest µops and slots that explain the measurements"}


def phases(settings: PMEvoSettings) -> dict[str, str]:
    """{stage: label}, in order."""
    found = _ALWAYS | _SEARCHES[settings.search]
    return found | _BOUNDED if refits(settings) and settings.objective == "bounded" else found


def refits(settings: PMEvoSettings) -> bool:
    """Whether a re-fit of the whole mapping is part of the search."""
    return settings.search != "evolution"
