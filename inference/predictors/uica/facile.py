"""Facile: the largest of analytical bounds over uiCA's data (Abel et al. 2023), part of uiCA's repository.

The output of `facile.py -file FILE -arch ARCH -mode unroll`, or `-mode loop` for a block that ends in a jump.
The program ignores instructions that its data lacks; here such a block is unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass

from inference.predictors.uica.analyser import AnalyserSettings, WarmAnalyser

KIND = "facile"


@dataclass(frozen=True)
class FacileSettings(AnalyserSettings):
    """The processor that Facile bounds."""


def make(settings: FacileSettings) -> WarmAnalyser:
    """Facile as a predictor. Raises `PredictorError` where it is not installed."""
    return WarmAnalyser(KIND, "Facile", settings)
