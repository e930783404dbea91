"""How well the port mapping model describes a processor (thesis §3.2.2): single schemes, mixes, orders.

What is measured is held against a reference port mapping. `alone` judges schemes by themselves and says which
go on, `mixes` sums up random mixes of them by length, `orders` what the order of the instructions costs.
"""

from inference.core.model_check.alone import (
    NEAR,
    SHORT_CYCLES,
    Alone,
    AloneSummary,
    AloneVerdict,
    judge_alone,
    summary_of,
)
from inference.core.model_check.mixes import MIX_LENGTHS, MixSummary, MixTally, drawn_mixes
from inference.core.model_check.orders import (
    ORDER_CPI,
    ORDER_LENGTHS,
    OrderSummary,
    OrderTally,
    most_orders,
    orders_of,
)

__all__ = [
    "MIX_LENGTHS",
    "NEAR",
    "ORDER_CPI",
    "ORDER_LENGTHS",
    "SHORT_CYCLES",
    "Alone",
    "AloneSummary",
    "AloneVerdict",
    "MixSummary",
    "MixTally",
    "OrderSummary",
    "OrderTally",
    "drawn_mixes",
    "judge_alone",
    "most_orders",
    "orders_of",
    "summary_of",
]
