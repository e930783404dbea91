"""The bucket picture: µops stacked on the ports that execute them (thesis Fig. 3.2)."""

from __future__ import annotations

from inference.core.schedule import SLOTS, Schedule
from inference.figures.plotly_json import Json
from inference.figures.tripartite import uop_json

_DIGITS = 9  # enough for any picture, and free of the last bits that differ between machines


def buckets(schedule: Schedule) -> Json:
    """Plain data of one bucket per port:

    - `cycles`, `port_cycles`: heights of the bounds; `limited_by`: "ports", "instructions" or "slots";
    - `limits`: [{"name", "cycles", "blocks": [{"scheme", "bottom", "height"}]}]: columns beside the ports;
    - `schemes`: texts; `uops`: as `uop_json` tells them;
    - `ports`: {"name", "load", "least", "greatest", "bottleneck": bool, "blocks": [{"scheme", "uop",
      "bottom", "height"}]} with indices into `schemes` and `uops`, blocks from the bottom up, in cycles.

    The load of a port can be anything from `least` to `greatest` without the experiment taking longer.
    µops with few ports lie at the bottom: they had no choice.
    """
    masks = sorted({mask for mask, _ in schedule.shares}, key=lambda mask: (mask.bit_count(), mask))
    schemes = list(schedule.scheme_shares)
    return {
        "cycles": round(schedule.cycles, _DIGITS),
        "port_cycles": round(schedule.port_cycles, _DIGITS),
        "limited_by": schedule.limited_by,
        "limits": [_limit(schedule, what, schemes) for what in schedule.limits],
        "schemes": schemes,
        "uops": [uop_json(mask, schedule.ports) for mask in masks],
        "ports": [
            {
                "name": name,
                "load": round(schedule.loads[port], _DIGITS),
                "least": round(schedule.intervals[port].least, _DIGITS),
                "greatest": round(schedule.intervals[port].greatest, _DIGITS),
                "bottleneck": port in schedule.bottleneck,
                "blocks": _stack(schedule, port, masks, schemes),
            }
            for port, name in enumerate(schedule.ports)
        ],
    }


def _limit(schedule: Schedule, what: str, schemes: list[str]) -> Json:
    """A limit outside the ports as a bucket of its own: what each scheme takes up of it."""
    taken = schedule.slots if what == SLOTS else schedule.counts
    cycles, total = schedule.limits[what], sum(taken.values())
    blocks, bottom = [], 0.0
    for index, scheme in enumerate(schemes):
        height = cycles * taken[scheme] / total
        blocks.append({"scheme": index, "bottom": round(bottom, _DIGITS), "height": round(height, _DIGITS)})
        bottom += height
    return {"name": what, "cycles": round(cycles, _DIGITS), "blocks": blocks}


def _stack(schedule: Schedule, port: int, masks: list[int], schemes: list[str]) -> list[Json]:
    blocks = []
    bottom = 0.0
    for uop, mask in enumerate(masks):
        for index, scheme in enumerate(schemes):
            height = schedule.scheme_shares[scheme].get((mask, port), 0.0)
            if round(height, _DIGITS) > 0:
                blocks.append(
                    {
                        "scheme": index,
                        "uop": uop,
                        "bottom": round(bottom, _DIGITS),
                        "height": round(height, _DIGITS),
                    }
                )
                bottom += height
    return blocks
