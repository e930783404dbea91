"""uiCA, the uops.info Code Analyzer: simulates recent Intel processors from measured data (thesis §8.2.1).

It is published under the AGPL and stays a program of its own: `worker.py` is run by its Python, and both
sides exchange lines of digits and JSON.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference.core.tunables import choice
from inference.predictors.uica.analyser import AnalyserSettings, WarmAnalyser

KIND = "uica"


@dataclass(frozen=True)
class UicaSettings(AnalyserSettings):
    init: str = choice(
        "diff", ("diff", "same", "stack"), "values that registers start with, -initPolicy", "diff"
    )


def make(settings: UicaSettings) -> WarmAnalyser:
    """uiCA as a predictor. Raises `PredictorError` where it is not installed."""
    return WarmAnalyser(KIND, "uiCA", settings, settings.init)
