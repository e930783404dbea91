"""Bulky parts of a campaign that is read but not stored, in a temporary file.

Reading takes long and touches no database; storing is nothing but inserting, all of it in one transaction,
so that nobody else has to wait for it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import IO, Self

from pydantic import ValidationInfo


@dataclass(frozen=True, slots=True)
class Spooled:
    """Bytes in the temporary file. `count`: the blocks in them, where they are samples."""

    file: IO[bytes]
    start: int
    size: int
    count: int

    def __bytes__(self) -> bytes:
        self.file.seek(self.start)
        return self.file.read(self.size)


class Spool:
    """A temporary file without a name: it is gone with the process, however that ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pmweb-import-")  # noqa: SIM115 it lives as long as this
        self._end = 0

    def keep(self, content: bytes, count: int = 0) -> Spooled:
        """Put the bytes away until they are stored."""
        self._file.seek(self._end)
        self._file.write(content)
        self._end += len(content)
        return Spooled(self._file, self._end - len(content), len(content), count)


Packed = bytes | Spooled


@dataclass
class CampaignContext:
    """What the parts of a campaign's archive are read with. `tools`: how many predictors answered."""

    spool: Spool
    tools: int = 0

    @classmethod
    def of(cls, info: ValidationInfo) -> Self:
        assert isinstance(info.context, cls), "campaigns are read by `read_archive` alone"
        return info.context
