"""Whether a core behaves as port mappings can describe, according to a check of the model on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from inference.core.model_check import MODEL_TOLERANCE, ORDER_TOLERANCE

MAX_SHARE_BEYOND = 0.05
"""Share of the mixes that may contradict every port mapping: a disturbed computer may have measured them
wrong.
"""


@dataclass(frozen=True)
class PortModelCheck:
    """A check of the model on a core, called `name`.

    Of `mixes` that settled, `beyond` took over 10 % longer than their instructions in turn, or over 10 % less
    than one of their schemes alone. Of `orders` experiments that were measured in several orders, the slowest
    and the fastest differ by `apart` cycles per instruction on average. `reference`: the row of the mapping
    that was compared, whose error on the mixes is `reference_error` per cent; None without one.
    """

    name: str
    mixes: int = 0
    beyond: int = 0
    orders: int = 0
    apart: float = 0.0
    reference: int | None = None
    reference_error: float | None = None

    @classmethod
    def of(cls, name: str, reference: int | None, result: Mapping[str, Any]) -> Self:
        """The check from the stored result of a run.

        Args:
            name: Name of the run.
            reference: Id of the mapping that it compared with, None for none.
            result: The run's result, with its mixes and orders.
        """
        mixes = result.get("mixes") or ()
        orders = [row for row in result.get("orders") or () if row["mean"] is not None]
        scored = [row for row in mixes if row["scores"] and row["scores"]["mape"] is not None]
        return cls(
            name,
            sum(row["settled"] for row in mixes),
            sum(row["slower"] + row["faster"] for row in mixes),
            sum(row["samples"] for row in orders),
            _mean([(row["mean"], row["samples"]) for row in orders]) or 0.0,
            reference,
            _mean([(row["scores"]["mape"], row["settled"]) for row in scored]),
        )

    def objections(self, mapping: int | None) -> Iterator[str]:
        """Reasons against a strong word for results of this core.

        `mapping`: the row of the result's mapping.
        """
        fails = f"the model's check “{self.name}” fails on this core"
        if self.mixes and self.beyond > MAX_SHARE_BEYOND * self.mixes:
            yield (
                f"{fails}: {self.beyond:,} of {self.mixes:,} mixes took longer or less than any port mapping "
                "says"
            )
        if self.orders and self.apart > ORDER_TOLERANCE:
            yield (
                f"{fails}: the order of instructions changes {self.orders:,} experiments by {self.apart:.2f} "
                "cycles per instruction on average"
            )
        error = self.reference_error
        is_reference = mapping is not None and self.reference == mapping
        if error is not None and is_reference and error > 100 * MODEL_TOLERANCE:
            yield f"the model's check “{self.name}” finds it off by {error:.1f} % on mixes"


def _mean(weighted: list[tuple[float, int]]) -> float | None:
    weight = sum(number for _, number in weighted)
    return sum(value * number for value, number in weighted) / weight if weight else None
