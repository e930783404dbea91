"""Predictors that somebody names to the API."""

from __future__ import annotations

from inference.features.asking.predictors.choosing import check_processor, on_processor
from inference.features.asking.predictors.offers import named
from inference.formats.problems import ExchangeError
from inference.models import Predictor
from inference.predictors.processor_names import PROCESSORS
from inference.predictors.protocol import PredictorError
from inference.web.api.errors import ProblemError


def predictors_named(texts: list[str], processor: str = "") -> list[Predictor]:
    """Those of these names for a processor. Raises `ProblemError` (422)."""
    try:
        check_processor(processor)
    except ExchangeError as error:
        right = f"one of {', '.join(PROCESSORS)}"
        raise ProblemError(422, str(error), where="body processor", right=right) from error
    try:
        return [on_processor(row, processor) for row in named(texts)]
    except PredictorError as error:
        right = "names as GET /predictors has them"
        raise ProblemError(422, str(error), where="body predictors", right=right) from error
