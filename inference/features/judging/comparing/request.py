"""What page and API can be asked about two mappings."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from inference.core.deviating import Sampling
from inference.core.metrics import Unit

Relation = Literal["", "different", "only-first", "only-second", "equal"]
MOST = 20_000
"""Experiments that page and API ask for; the shell takes more."""


class SamplingRequest(BaseModel):
    """Which random experiments both are asked about."""

    experiments: int = Field(Sampling.experiments, ge=1, le=MOST)
    length: int = Field(Sampling.length, ge=1, le=100, description="Instructions of each.")
    seed: int = Field(Sampling.seed, ge=0, le=2**63 - 1)
    unit: Unit = Sampling.unit
    r_max: float | None = Field(
        None,
        description="Instructions per cycle to hold both to, instead of their own.",
        examples=[5.0],
    )

    def as_sampling(self) -> Sampling:
        """Raises `InvalidInputError` for an R_max that no mapping can have."""
        return Sampling(**self.model_dump())
