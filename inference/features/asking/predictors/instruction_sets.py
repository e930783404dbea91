"""The instruction sets whose blocks stored predictors answer for."""

from __future__ import annotations

from collections.abc import Sequence

from inference.features.asking.predictors.kinds import all_kinds
from inference.isa.targets import names_with_operands
from inference.models import Predictor
from inference.predictors.protocol import PredictorError
from inference.runs.errors import ConfigError


def isas_of_row(row: Predictor) -> Sequence[str]:
    """The instruction sets whose blocks a stored predictor answers for; () where that cannot be found out."""
    kind = all_kinds().get(row.kind)
    try:
        return () if kind is None else kind.isas_of(row.options)
    except PredictorError:
        return ()


def common_isa(predictors: Sequence[int]) -> str:
    """The first instruction set with random blocks that all predictors, given by ids, answer for.

    Predictors of unknown kinds are ignored. Raises `ConfigError` if there is none.
    """
    choices = names_with_operands()
    rows = list(Predictor.objects.filter(pk__in=predictors).order_by("pk"))
    isas = {row.name: answered for row in rows if (answered := isas_of_row(row))}
    for isa in choices:
        if all(isa in answered for answered in isas.values()):
            return isa
    answers = "; ".join(f"{name} answers for {', '.join(answered)}" for name, answered in isas.items())
    raise ConfigError(f"predictors must all answer for one of {', '.join(choices)}: {answers}")
