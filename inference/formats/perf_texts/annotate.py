"""The text of `perf annotate --stdio`: a share of the samples, or with -n their number, for each instruction.

 Percent |      Source code & Disassembly of a for cycles:u (52 samples, percent: local period)
----------------------------------------------------------------------------------------
         : 5    0000000000001200 <cnt>:
    3.85 :   1212:   sete   %al
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inference.formats.perf_texts.samples import PerfSamples, SampledPoint

_UNITS = ("Percent", "Samples", "Period", "Event")
_OF = "Disassembly of "
_SAMPLES = re.compile(r"([\d,]{1,20}) samples(?:, percent: ([a-z -]+))?")
_NAME = re.compile(r"\s*:\s*(?:\d+\s+)?(?:0x)?[0-9a-f]{1,16} <(.+)>:\s*")
_ROW = re.compile(r"\s*([\d.]+)(?:\s+[\d.]+)*\s*:\s*([0-9a-f]{1,16}):\s*\S.*")
_BESIDE = re.compile(r"\s*+(?::.*|-*\s*)")
_LONGEST = 2000


@dataclass(frozen=True)
class _Head:
    """The title of a function: what makes samples of its numbers, or that these are per cent of all."""

    file: str
    event: str
    factor: float
    percent: bool


def is_annotate(beginning: str) -> bool:
    """Whether a text that begins so is of `perf annotate --stdio`."""
    return any(_head(line[:_LONGEST]) for line in beginning.splitlines()[:200])


def read_annotate(lines: Iterable[str]) -> Iterator[PerfSamples]:
    """Read line by line; yields the same samples every so often, as they grow, and at the end.

    Raises `ExchangeError` for what is without bounds.
    """
    found = PerfSamples()
    head, symbol = _Head("", "", 1.0, percent=False), ""
    for number, whole in enumerate(lines, start=1):
        found.lines = number
        if number % 5000 == 0:
            yield found
        line = whole.rstrip()[:_LONGEST]
        if title := _head(line):
            head, symbol = title, ""
            found.percent = found.percent or title.percent
        elif row := _ROW.fullmatch(line):
            value = _value(row[1])
            if value is None:
                found.pass_over(number, line)
            elif value:
                point = SampledPoint(int(row[2], 16), symbol, None, head.file, of_file=True)
                found.count(head.event, point, value * head.factor)
        elif name := _NAME.fullmatch(line):
            symbol = name[1]
        elif not _BESIDE.fullmatch(line):
            found.pass_over(number, line)
    yield found


def _head(line: str) -> _Head | None:
    unit, bar, title = line.partition("|")
    words = unit.split()
    if not bar or not words or words[0] not in _UNITS or _OF not in title:
        return None
    named, bracket, facts = title.partition(_OF)[2].rpartition(" (")
    told = _SAMPLES.match(facts) if bracket else None
    if told is None:
        named = title.partition(_OF)[2]
    file, among, event = named.rpartition(" for ")
    if not among:
        file, event = named, ""
    factor, percent = 1.0, False
    if words[0] == "Percent":
        percent = told is None or "global" in (told[2] or "")
        if told is not None and not percent:
            factor = int(told[1].replace(",", "") or 0) / 100
    return _Head(file.strip(), event.strip(), factor, percent)


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
