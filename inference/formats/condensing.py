"""What is kept of a file that comes in: itself, or of a very large one what is of use, condensed."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from typing import IO, BinaryIO, cast

from inference.formats.errors import ExchangeError
from inference.formats.source import SIZE_LIMIT
from inference.formats.uops_info_xml import condensed, is_xml

XML_PEEK = 64
"""Bytes that show whether a file is XML."""


def taken_in(file: IO[bytes], file_name: str, limit: int = SIZE_LIMIT) -> bytes:
    """The bytes to store and to read: of XML a digest (see `uops_info_xml`), of all else the file.

    Raises `ExchangeError` for XML that is not understood, and for other files of more than `limit` bytes.
    """
    with ExitStack() as spools:
        kept = to_be_kept(file, file_name, limit, spools)
        kept.seek(0)
        return kept.read()


def to_be_kept(file: IO[bytes], file_name: str, limit: int, spools: ExitStack) -> IO[bytes]:
    """The same as a file: the one that came, or one on the disk, which the stack closes. Raises the same."""
    beginning = file.read(XML_PEEK)
    file.seek(0)
    if is_xml(beginning):
        digest = tempfile.TemporaryFile()  # noqa: SIM115  the stack closes it
        spools.callback(digest.close)
        digest.write(condensed(cast("BinaryIO", file), file_name))
        return digest
    if file.seek(0, os.SEEK_END) > limit:
        raise ExchangeError(f"{file_name} is larger than {limit >> 20} MiB, the most that can be read")
    return file
