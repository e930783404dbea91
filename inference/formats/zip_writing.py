"""Writing archives: the same values make the same bytes."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from typing import BinaryIO

_EPOCH = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # the oldest that a zip can say: when it was written does not matter


def write_zip(file: BinaryIO, members: Iterable[tuple[str, Iterable[bytes]]]) -> None:
    """A zip of files, each a name and its parts, one after another."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, parts in members:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)
