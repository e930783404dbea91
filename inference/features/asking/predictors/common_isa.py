"""Of which instruction set random blocks are made that several predictors are asked about."""

from __future__ import annotations

from collections.abc import Sequence

from inference.features.asking.predictors.query import all_kinds
from inference.isa.targets import names_with_operands
from inference.models import Predictor
from inference.runs.errors import ConfigError


def common_isa(predictors: Sequence[int]) -> str:
    """The first instruction set with random blocks that predictors, given by ids, all answer for.

    Kinds that are not known here answer for any. Raises `ConfigError` where there is none.
    """
    known = all_kinds()
    rows = [row for row in Predictor.objects.filter(pk__in=predictors).order_by("pk") if row.kind in known]
    choices = names_with_operands()
    for isa in choices:
        if all(isa in known[row.kind].isas for row in rows):
            return isa
    answers = "; ".join(f"{row.name} answers for {', '.join(known[row.kind].isas)}" for row in rows)
    raise ConfigError(f"predictors must all answer for one of {', '.join(choices)}: {answers}")
