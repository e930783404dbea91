"""A campaign that is read but not stored: values, their bulky parts in a temporary file.

Reading takes long and touches no database; storing is nothing but inserting, all of it in one transaction,
so that nobody else has to wait for it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from anica_app.formats.campaign_values import (
    BatchValue,
    CampaignValue,
    DiscoveryValue,
    FamilyValue,
    FileValue,
    GeneralisationValue,
    PredictorValue,
    StepValue,
)

BulkyValue = TypeVar("BulkyValue", FileValue, StepValue, BatchValue)


@dataclass(frozen=True, slots=True)
class Bulk(Generic[BulkyValue]):
    """A value, and where in the temporary file its bytes are."""

    value: BulkyValue
    start: int
    size: int


class Spool:
    """A temporary file without a name: it is gone with the process, however that ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pmweb-import-")  # noqa: SIM115 it lives as long as this
        self._end = 0

    def keep(self, value: BulkyValue, content: bytes) -> Bulk[BulkyValue]:
        """Put the bytes away until the value is stored."""
        self._file.seek(self._end)
        self._file.write(content)
        self._end += len(content)
        return Bulk(value, self._end - len(content), len(content))

    def content(self, bulk: Bulk[BulkyValue]) -> bytes:
        """The bytes again."""
        self._file.seek(bulk.start)
        return self._file.read(bulk.size)


@dataclass
class SpooledCampaign:
    """Everything of one campaign. Values refer to discoveries and generalisations by their numbers.

    `campaign` has its own name and note, `isa` is the name of its instruction set, "" for none. `steps` are
    by the number of their generalisation.
    """

    campaign: CampaignValue
    isa: str = ""
    predictors: list[PredictorValue] = field(default_factory=list)
    discoveries: list[DiscoveryValue] = field(default_factory=list)
    subsumed_by: dict[int, int] = field(default_factory=dict)
    families: list[FamilyValue] = field(default_factory=list)
    members: dict[int, list[int]] = field(default_factory=dict)
    """{family: its discoveries}."""
    generalisations: list[GeneralisationValue] = field(default_factory=list)
    became_of: dict[int, int] = field(default_factory=dict)
    """{generalisation: its discovery}."""
    steps: dict[int, list[Bulk[StepValue]]] = field(default_factory=dict)
    batches: list[Bulk[BatchValue]] = field(default_factory=list)
    batch_of: dict[int, int] = field(default_factory=dict)
    """{batch: the discovery it is about}."""
    files: list[Bulk[FileValue]] = field(default_factory=list)
    spool: Spool = field(default_factory=Spool)
