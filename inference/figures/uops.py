"""How a kind of µop is told to the browser."""

from __future__ import annotations

from collections.abc import Sequence

from inference.core.mapping import ports_in
from inference.figures.plotly_json import Json


def uop_json(mask: int, ports: Sequence[str]) -> Json:
    """{"mask": hexadecimal text, "ports": indices, "label": "[0,1,5]"} of the µops on a port set.

    The mask is text because it may exceed the whole numbers of JavaScript.
    """
    indices = list(ports_in(mask))
    return {"mask": f"{mask:#x}", "ports": indices, "label": f"[{','.join(ports[k] for k in indices)}]"}
