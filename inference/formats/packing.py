"""What was read of a file, kept beside it, so that nothing parses it again."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import cache

from pydantic import ConfigDict, TypeAdapter

from inference.formats.import_formats import FORMATS
from inference.formats.parsing import ParsedFile


def pack(reading: ParsedFile) -> bytes:
    """What was read, to be kept beside its file: compressed JSON."""
    form = None if reading.format is None else reading.format.key
    return zlib.compress(_packed().dump_json(_Packed(form, replace(reading, format=None))), 1)


def unpack(content: bytes) -> ParsedFile:
    """The same as before `pack`."""
    found = _packed().validate_json(zlib.decompress(content))
    known = {each.key: each for each in FORMATS}
    return replace(found.reading, format=None if found.format is None else known[found.format])


@dataclass(frozen=True)
class _Packed:
    """The key of the format, and the rest without it."""

    __pydantic_config__ = ConfigDict(ser_json_inf_nan="constants")

    format: str | None
    reading: ParsedFile


@cache
def _packed() -> TypeAdapter[_Packed]:
    """Made when it is needed: pydantic looks at all that a file can say."""
    return TypeAdapter(_Packed)
