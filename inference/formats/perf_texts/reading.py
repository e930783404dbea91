"""A text of perf's from the bytes of a file."""

from __future__ import annotations

import io
from collections.abc import Callable

from inference.formats.errors import ExchangeError
from inference.formats.perf_texts.annotate import is_annotate, read_annotate
from inference.formats.perf_texts.samples import PerfSamples
from inference.formats.perf_texts.script import is_script, read_script

BEGINNING = 1 << 16
"""Bytes of a file by which it is recognised."""

_RIGHT = "what `perf script` or `perf annotate --stdio` prints is expected"


def read_samples(content: bytes, file_name: str, told: Callable[[], None] = lambda: None) -> PerfSamples:
    """`told` is called now and then, and may raise in order to stop. Raises `ExchangeError`."""
    beginning = content[:BEGINNING].decode("utf-8-sig", "replace")
    if content.startswith(b"PERFILE2"):
        raise ExchangeError(f"{file_name} is a recording of perf; {_RIGHT}")
    if is_annotate(beginning):
        reader = read_annotate
    elif is_script(beginning):
        reader = read_script
    else:
        raise ExchangeError(f"{file_name} has no samples; {_RIGHT}")
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", errors="replace")
    found = PerfSamples()
    for found in reader(lines):  # noqa: B007  it grows; the last one is whole
        told()
    if not found.counts and not found.branches:
        where = "" if found.first_unread is None else f", e.g. line {found.first_unread[0]}"
        raise ExchangeError(f"{file_name} has no sample in its {found.lines:,} lines{where}; {_RIGHT}")
    return found
