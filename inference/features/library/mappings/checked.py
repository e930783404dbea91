"""Whether anybody has checked what a mapping says of a scheme, and what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from inference.core.residuals import SchemeError
from inference.models import Evaluation, PortMapping
from inference.storage.evaluations import evaluations_of, residuals_in
from inference.web.listed_mappings import source_label

ALONE = 0.10
"""Of the measured time of one instance: a prediction further off is contradicted by it."""

ON_AVERAGE = 20.0
"""Per cent: a larger mean error over the experiments with a scheme contradicts it, as among the doubts."""


@dataclass(frozen=True)
class Check:
    """`experiments` with the scheme were predicted in the best evaluation, off by `error` per cent on
    average, None where there were none; `contradicted`: the address of what says so.
    """

    experiments: int = 0
    error: float | None = None
    contradicted: str = ""


class Checks:
    """Of all schemes of a mapping, by the evaluation that says most about it (two queries)."""

    def __init__(self, row: PortMapping) -> None:
        self._row = row
        self.evaluation: Evaluation | None = evaluations_of(row).filter(unit=Evaluation.Unit.CYCLES).first()
        found = residuals_in(self.evaluation) if self.evaluation is not None else ()
        self._errors: Mapping[str, SchemeError] = {each.scheme: each for each in found}

    @property
    def on(self) -> str:
        """What was evaluated on, "" where nothing was."""
        return "" if self.evaluation is None else source_label(self.evaluation)

    def of(
        self, pk: int, text: str, predicted: float, measured: float | None, experiment: int | None
    ) -> Check | None:
        """What was checked of a scheme, by its time alone (`experiment`) and in mixes; None for nothing."""
        known = self._errors.get(text)
        if known is None and measured is None:
            return None
        against = ""
        if measured and experiment is not None and abs(predicted - measured) > ALONE * measured:
            against = f"{reverse('experiment', args=[experiment])}?mapping={self._row.pk}"
        elif known is not None and known.absolute > ON_AVERAGE and self.evaluation is not None:
            asked = {"tab": "accuracy", "set": self.evaluation.experiment_set_id or "held-out", "scheme": pk}
            against = f"{reverse('mapping', args=[self._row.pk])}?{urlencode(asked)}#bin"
        if known is None:
            return Check(contradicted=against)
        return Check(known.n, known.absolute, against)
