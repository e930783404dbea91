"""Settings of campaigns that belong together for a purpose; whatever a user says beside them goes before."""

from __future__ import annotations

from dataclasses import dataclass, field

from inference.core.protocols import Json
from inference.features.asking.predictors.modes import AS_NAMED
from inference.measuring.blocks import LOOP


@dataclass(frozen=True)
class Preset:
    """`settings` by the names of their fields; `filter` is a search text that chooses schemes. `mode`: what
    the form offers first."""

    title: str
    help: str
    settings: Json = field(default_factory=dict)
    filter: str = ""
    mode: str = LOOP


PRESETS = {
    "tools": Preset(
        "Two tools",
        "A relative difference of more than a half, as in the published comparison of tools (§8.2.2).",
    ),
    "regression": Preset(
        "Two releases of a tool",
        "As for two tools; a failure of one release is told apart from another prediction.",
        {"failures": "crash, timeout, no number"},
    ),
    "hardware": Preset(
        "A tool and a machine",
        "At least 2 cycles of difference, 10 % exceptions, and fewer samples and orders, as measuring takes "
        "long. Without what reads and writes memory at once, which makes measurements depend on each other "
        "(§8.3.3), and without non-temporal moves, whose times do not settle.",
        {
            "metric": "absolute",
            "threshold": 2.0,
            "samples": 20,
            "confirming": 100,
            "first_look": 10,
            "orders": 1,
            "batch": 50,
            "side_by_side": 8,
            "exceptions": 0.1,
        },
        "-memory:RW -movnt",
    ),
    "crashes": Preset(
        "Crash hunt",
        "What makes a tool crash; one tool is enough.",
        {"metric": "failure", "failures": "crash"},
    ),
    "mappings": Preset(
        "Two port mappings",
        "Blocks without dependencies, and nothing is said of operands: a mapping knows neither (§8.5).",
        {"aliasing": False},
    ),
    "harness": Preset(
        "Two ways of measuring",
        "Two settings of one harness on one machine, such as unrolled and in a loop, registers zero or not: "
        "a difference of half a cycle matters (§8.5).",
        {"metric": "absolute", "threshold": 0.5, "samples": 50},
        "-memory:RW",
        AS_NAMED,
    ),
}
