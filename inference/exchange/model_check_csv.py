"""A check of the port mapping model as CSV: single schemes, mixes by length, orders by length.

    scheme,verdict,cycles measured,cycles modelled,error %,note
    instructions,experiments,settled,MAPE %,Pearson r,Kendall tau,slower than in turn,faster than alone
    instructions,experiments,compared,mean CPI,largest CPI,over 0.05 CPI

Cells are empty where there is no such number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from inference.core.model_check import Alone
from inference.exchange.csv_cells import written

ALONE = ("scheme", "verdict", "cycles measured", "cycles modelled", "error %", "note")
MIXES = (
    *("instructions", "experiments", "settled", "MAPE %", "Pearson r", "Kendall tau"),
    *("slower than in turn", "faster than alone"),
)
ORDERS = ("instructions", "experiments", "compared", "mean CPI", "largest CPI", "over 0.05 CPI")


def write_alone_csv(alone: Iterable[Alone]) -> str:
    """A row for every scheme."""
    return written(
        ALONE,
        (
            (
                each.scheme,
                each.verdict.value,
                each.measured,
                each.modelled,
                None if each.error is None else 100 * each.error,
                each.note,
            )
            for each in alone
        ),
    )


def write_mixes_csv(mixes: Iterable[Mapping[str, Any]]) -> str:
    """A row for every length."""
    rows = []
    for each in mixes:
        scores = each["scores"] or {}
        agreement = (scores.get(name) for name in ("mape", "pearson", "kendall"))
        numbers = (each[name] for name in ("length", "asked", "settled"))
        rows.append((*numbers, *agreement, each["slower"], each["faster"]))
    return written(MIXES, rows)


def write_orders_csv(orders: Iterable[Mapping[str, Any]]) -> str:
    """A row for every length, as in Table 3.1."""
    names = ("length", "asked", "samples", "mean", "largest", "notable")
    return written(ORDERS, ([each[name] for name in names] for each in orders))
