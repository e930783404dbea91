"""Facile: the largest of analytical bounds over uiCA's data (Abel et al. 2023), part of uiCA's repository.

What `facile.py -file FILE -arch ARCH -mode unroll` prints, or `-mode loop` for a block that ends in a jump.
Of an instruction that its data lacks the program says nothing; here such a block is unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference.predictors.uica.analyser import AnalyserSettings, WarmAnalyser

KIND = "facile"


@dataclass(frozen=True)
class FacileSettings(AnalyserSettings):
    """Which processor Facile bounds."""


def make(settings: FacileSettings) -> WarmAnalyser:
    """Facile as a predictor. Raises `PredictorError` where it is not installed."""
    return WarmAnalyser(KIND, "Facile", settings)
