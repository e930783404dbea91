"""What is documented about a core."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Microarchitecture:
    """What is documented about a core.

    `ports`: how many an inference should start from: execution and store-data ports, at most the 13 that
    mappings are evaluated quickly with. `r_max`: instructions per cycle that rename or dispatch lets through
    (fused pairs count once), None where it is not documented for certain. `source`: where this is said.
    `widest`: the most ports that one µop may use, None where that is not documented for certain.
    """

    name: str
    ports: int
    r_max: float | None
    source: str
    widest: int | None = None
