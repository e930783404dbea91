"""The text of `perf script`, with whatever fields: an address, a symbol with an offset, a file.

    a 136  1631.540778:  200000 cycles:u:      55cb5452b21e cnt+0x1e (/tmp/a)     a line for each sample
                                               55cb5452b21e cnt+0x1e (/tmp/a)     -F ip,sym,symoff,dso
    a 136  1650.225668:  200000 cycles:u:                                         with call chains: where the
                121c cnt+0x1c (/tmp/a)                                            sample was comes first
                1098 main+0x48 (/tmp/a)
    a 136  1650.219: PERF_RECORD_MMAP2 136/136: [0x55b349cdf000(0x1000) @ 0x1000 fe:00 2 3]: r-xp /tmp/a
    … cnt+0x1e (/tmp/a)  0x55cb5452b223/0x55cb5452b210/P/-/-/3                    -F +brstack
    … cnt+0x1e (/tmp/a)  cnt+0x23/cnt+0x10/P/-/-/3                                -F +brstacksym

Lines are taken apart by patterns that need no more time than a line is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from inference.formats.perf_texts.samples import MOST_MAPPED, Mapped, PerfSamples, SampledPoint

_RECORD = "PERF_RECORD_"
_MAPPED = re.compile(  # bounded: 8,192 characters of a line are searched
    r"PERF_RECORD_MMAP2? (-?\d{1,10})/-?\d{1,10}: \[0x([0-9a-f]{1,16})\(0x([0-9a-f]{1,16})\) "
    r"@ (?:0x)?([0-9a-f]{1,16})[^][]*\]: (\S{1,8}) (.+)$"
)
_ALIGNED = re.compile(
    r"(?=[ \t][ 0-9a-f]{16}(?:\s|$))[ \t]+([0-9a-f]{1,16})(?=\s|$)"
)  # as perf prints addresses
_BEHIND_EVENT = re.compile(r":\s+([0-9a-f]{1,16})(?=\s|$)")
_AT_BEGIN = re.compile(r"\s*([0-9a-f]{1,16})(?=\s|$)")
_PROCESS = re.compile(r"\s(\d{1,10})(?:/\d{1,10})?\s+(?:\[\d+\]\s+)?\d+\.\d+:")
_TAKEN = re.compile(
    r"(?P<begin>[^/()]+)(?:\((?P<begin_file>[^()]+)\))?/(?P<end>[^/()]+)(?:\((?P<end_file>[^()]+)\))?"
    r"/[A-Z?-]{1,3}/[X-]/[A-]/\d.*"
)
_NUMBER = re.compile(r"0x([0-9a-f]{1,16})")
_OFFSET = re.compile(r"[0-9a-f]{1,16}")
_SAMPLE = re.compile(
    r"[ \t]*[0-9a-f]{4,16}[ \t]++(?>\S.*?\(\S).*\)\s*"
    r"|(?>.*?\s\d+\.\d+:\s).*:\s*(?:[0-9a-f]{4,16}\b.*)?",
    re.DOTALL,
)
_UNKNOWN = "[unknown]"
_LONGEST = 50_000
_LOOKED_AT = 40, 400  # lines, and characters of each


def is_script(beginning: str) -> bool:
    """Whether a text that begins so is of `perf script`."""
    count, most = _LOOKED_AT
    lines = [line for line in beginning.splitlines() if line.strip() and line[0] != "#"][:count]
    alike = 0
    for line in lines:
        text, taken = _without_branches(line[:_LONGEST])
        text = text[:most]
        alike += bool(taken or _SAMPLE.fullmatch(text) or _ALIGNED.fullmatch(text) or _MAPPED.search(text))
    return bool(lines) and 2 * alike >= len(lines)


def read_script(lines: Iterable[str]) -> Iterator[PerfSamples]:
    """Read line by line; yields the same samples every so often, as they grow, and at the end.

    Raises `ExchangeError` for what is without bounds.
    """
    found = PerfSamples()
    event, process, inside, counted = "", None, False, False
    for number, line in enumerate(lines, start=1):
        found.lines = number
        if number % 5000 == 0:
            yield found
        if not line.strip():
            inside = counted = False
        elif line[0] == "#" or (inside and counted):
            continue  # who has called
        elif _RECORD in line:
            _take_mapped(found, line)
        elif (head := _head(line)) is not None:
            event, process = head
            inside, counted = True, False
        elif len(line) <= _LONGEST and _take_sample(found, line, event if inside else "", process):
            counted = True
        else:
            found.pass_over(number, line)
        if not inside:
            process = None
    yield found


def _head(line: str) -> tuple[str, int | None] | None:
    """(event, process) of a line that a call chain follows, None for others."""
    text = line.rstrip()[-_LOOKED_AT[1] :]
    if not text.endswith(":") or not _PROCESS.search(text):
        return None
    return _event(text), _process(text)


def _event(before: str) -> str:
    """The event that is named at the end of a text, "" where none is."""
    text = before.rstrip()
    return text[:-1].rsplit(None, 1)[-1] if text.endswith(":") and len(text) > 1 else ""


def _process(text: str) -> int | None:
    found = _PROCESS.search(text)
    return None if found is None else int(found[1])


def _take_mapped(found: PerfSamples, line: str) -> None:
    match = _MAPPED.search(line[: 2 * 4096])
    if match is None or "x" not in match[5] or len(found.mapped) >= MOST_MAPPED:
        return
    begin = int(match[2], 16)
    end = begin + int(match[3], 16)
    found.mapped.append(Mapped(int(match[1]), begin, end, int(match[4], 16), match[6].strip()))


def _take_sample(found: PerfSamples, line: str, event: str, process: int | None) -> bool:
    text, taken = _without_branches(line.rstrip())
    match = _last(_ALIGNED, text) or _last(_BEHIND_EVENT, text) or _AT_BEGIN.match(text)
    if match is None:
        _take_branches(found, taken, event, process, "")
        return bool(taken)
    before = text[: match.start() + 1]
    if not event:
        event = _event(before)
    if process is None:
        process = _process(before)
    symbol, offset, file = _place(text[match.end() :].strip())
    found.count(event, SampledPoint(int(match[1], 16), symbol, offset, file, process))
    _take_branches(found, taken, event, process, file)
    return True


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007  the last one is wanted
        pass
    return match


def _without_branches(line: str) -> tuple[str, list[re.Match[str]]]:
    """What comes ahead of the branch records, and these."""
    if "/-/" not in line:
        return line, []
    parts = re.split(r"(\s+)", line)
    taken = [_TAKEN.fullmatch(part) if "/" in part else None for part in parts]
    first = next((at for at, one in enumerate(taken) if one is not None), len(parts))
    return "".join(parts[:first]), [one for one in taken if one is not None]


def _place(text: str) -> tuple[str, int | None, str]:
    """(symbol, offset, file) of `cnt+0x1e (/tmp/a)`, "" and None for what is not there."""
    file = ""
    end = text.rfind(")")
    if end >= 0:
        begin = _opening(text, end)
        file, text = text[begin + 1 : end], text[:begin].rstrip()
    symbol, plus, digits = text.rpartition("+0x")
    if plus and _OFFSET.fullmatch(digits):
        return symbol, int(digits, 16), "" if file == _UNKNOWN else file
    if "+0x" in file:  # -F dsoff: behind the file
        file = file.rpartition("+0x")[0]
    return "" if text == _UNKNOWN else text, None, "" if file == _UNKNOWN else file


def _opening(text: str, end: int) -> int:
    """Where the bracket opens that is closed at `end`."""
    depth = 0
    for at in range(end, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return end


def _take_branches(
    found: PerfSamples, taken: list[re.Match[str]], event: str, process: int | None, file: str
) -> None:
    for one in taken:
        begin = _end_of(one["begin"], one["begin_file"] or file, process)
        end = _end_of(one["end"], one["end_file"] or file, process)
        if begin is not None and end is not None:
            found.jumped(event, begin, end)


def _end_of(text: str, file: str, process: int | None) -> SampledPoint | None:
    if number := _NUMBER.fullmatch(text):
        return SampledPoint(int(number[1], 16), "", None, file, process)
    symbol, plus, digits = text.rpartition("+0x")
    if plus and _OFFSET.fullmatch(digits):
        return SampledPoint(None, symbol, int(digits, 16), file, process)
    return None
