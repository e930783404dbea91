"""Reads samples from what perf prints: `perf script` with any fields, or `perf annotate --stdio`.

    a 136  1631.540778:  200000 cycles:u:      55cb5452b21e cnt+0x1e (/tmp/a)     a line for each sample
                                               55cb5452b21e cnt+0x1e (/tmp/a)     -F ip,sym,symoff,dso
    a 136  1650.225668:  200000 cycles:u:                                         with call chains: where the
                121c cnt+0x1c (/tmp/a)                                            sample was comes first
                1098 main+0x48 (/tmp/a)
    a 136  1650.219: PERF_RECORD_MMAP2 136/136: [0x55b349cdf000(0x1000) @ 0x1000 fe:00 2 3]: r-xp /tmp/a
    … cnt+0x1e (/tmp/a)  0x55cb5452b223/0x55cb5452b210/P/-/-/3                    -F +brstack
    … cnt+0x1e (/tmp/a)  cnt+0x23/cnt+0x10/P/-/-/3                                -F +brstacksym

`perf annotate` prints for each instruction its share of the samples, or with -n their number:

    Percent |      Source code & Disassembly of a for cycles:u (52 samples, percent: local period)
   ----------------------------------------------------------------------------------------
            : 5    0000000000001200 <cnt>:
       3.85 :   1212:   sete   %al
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from inference.formats.problems import ExchangeError

MAX_POINTS = 1_000_000  # places with samples, and jumps
MAX_REGIONS = 100_000  # of memory with code


@dataclass(frozen=True, slots=True)
class SampledPoint:
    """A place in running code, as far as it was printed.

    `address`: in the process, or with `of_file` in the file; None where only the symbol was printed.
    `symbol`, and `offset` in bytes from its beginning (None: unknown); `file`: the program or library.
    """

    address: int | None = None
    symbol: str = ""
    offset: int | None = None
    file: str = ""
    process: int | None = None
    of_file: bool = False


@dataclass(frozen=True, slots=True)
class MappedRegion:
    """A part of a file that a process had mapped at addresses from `begin` to below `end`."""

    process: int
    begin: int
    end: int
    offset: int
    file: str


@dataclass
class PerfSamples:
    """Samples by event, such as "cycles:u", or "" where the event is not named.

    `branches`: how often a jump was taken, (from, to), by the processor's branch records.
    """

    counts: dict[str, Counter[SampledPoint]] = field(default_factory=dict)
    branches: dict[str, Counter[tuple[SampledPoint, SampledPoint]]] = field(default_factory=dict)
    regions: list[MappedRegion] = field(default_factory=list)
    percent: bool = False
    """Whether counts are per cent of all samples, instead of samples."""
    lines: int = 0
    unread: int = 0
    """Lines that are neither samples nor known context."""
    first_unread: tuple[int, str] | None = None

    def count(self, event: str, point: SampledPoint, number: float = 1) -> None:
        """Add samples. Raises `ExchangeError` beyond `MAX_POINTS` places."""
        counter = self.counts.setdefault(event, Counter())
        counter[point] += number  # type: ignore[assignment]  # shares of samples, of annotations
        _check(len(counter))

    def count_jump(self, event: str, begin: SampledPoint, end: SampledPoint) -> None:
        """Add a taken jump. Raises `ExchangeError` beyond `MAX_POINTS` jumps."""
        counter = self.branches.setdefault(event, Counter())
        counter[begin, end] += 1
        _check(len(counter))

    def count_unread(self, number: int, line: str) -> None:
        self.unread += 1
        if self.first_unread is None:
            self.first_unread = (number, line.strip()[:80])

    @property
    def events(self) -> list[str]:
        """The recorded events, that with the most samples first."""
        return sorted(self.counts, key=lambda event: -self.counts[event].total())


def _check(points: int) -> None:
    if points > MAX_POINTS:
        raise ExchangeError(f"the samples are at more than {MAX_POINTS:,} places: give a part of them")


_RECORD = "PERF_RECORD_"
_MMAP = re.compile(  # bounded: 8,192 characters of a line are searched
    r"PERF_RECORD_MMAP2? (-?\d{1,10})/-?\d{1,10}: \[0x([0-9a-f]{1,16})\(0x([0-9a-f]{1,16})\) "
    r"@ (?:0x)?([0-9a-f]{1,16})[^][]*\]: (\S{1,8}) (.+)$"
)
_ALIGNED = re.compile(
    r"(?=[ \t][ 0-9a-f]{16}(?:\s|$))[ \t]+([0-9a-f]{1,16})(?=\s|$)"
)  # as perf prints addresses
_BEHIND_EVENT = re.compile(r":\s+([0-9a-f]{1,16})(?=\s|$)")
_AT_BEGIN = re.compile(r"\s*([0-9a-f]{1,16})(?=\s|$)")
_PROCESS = re.compile(r"\s(\d{1,10})(?:/\d{1,10})?\s+(?:\[\d+\]\s+)?\d+\.\d+:")
_BRANCH = re.compile(
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
_MAX_LENGTH = 50_000  # characters of a line: one sample with its branch stack
_INSPECTED = 40, 400  # lines, and characters of each


def is_script(beginning: str) -> bool:
    """Whether a text that begins with `beginning` is of `perf script`."""
    count, width = _INSPECTED
    lines = [line for line in beginning.splitlines() if line.strip() and line[0] != "#"][:count]
    fitting = 0
    for line in lines:
        text, branches = _without_branches(line[:_MAX_LENGTH])
        text = text[:width]
        fitting += bool(branches or _SAMPLE.fullmatch(text) or _ALIGNED.fullmatch(text) or _MMAP.search(text))
    return bool(lines) and 2 * fitting >= len(lines)


def read_script(lines: Iterable[str]) -> Iterator[PerfSamples]:
    """Read line by line; yields the same growing `PerfSamples` every 5,000 lines, and at the end.

    Raises `ExchangeError` for too many places.
    """
    samples = PerfSamples()
    event, process, in_chain, is_counted = "", None, False, False
    for number, line in enumerate(lines, start=1):
        samples.lines = number
        if number % 5000 == 0:
            yield samples
        if not line.strip():
            in_chain = is_counted = False
        elif line[0] == "#" or (in_chain and is_counted):
            continue  # a caller
        elif _RECORD in line:
            _read_region(samples, line)
        elif (head := _head(line)) is not None:
            event, process = head
            in_chain, is_counted = True, False
        elif len(line) <= _MAX_LENGTH and _read_sample(samples, line, event if in_chain else "", process):
            is_counted = True
        else:
            samples.count_unread(number, line)
        if not in_chain:
            process = None
    yield samples


def _head(line: str) -> tuple[str, int | None] | None:
    """(event, process) of a line that is followed by a call chain, None for other lines."""
    text = line.rstrip()[-_INSPECTED[1] :]
    if not text.endswith(":") or not _PROCESS.search(text):
        return None
    return _event(text), _process(text)


def _event(before: str) -> str:
    """The event that is named at the end of a text, "" where none is."""
    text = before.rstrip()
    return text[:-1].rsplit(None, 1)[-1] if text.endswith(":") and len(text) > 1 else ""


def _process(text: str) -> int | None:
    match = _PROCESS.search(text)
    return None if match is None else int(match[1])


def _read_region(samples: PerfSamples, line: str) -> None:
    match = _MMAP.search(line[: 2 * 4096])
    if match is None or "x" not in match[5] or len(samples.regions) >= MAX_REGIONS:
        return
    begin = int(match[2], 16)
    end = begin + int(match[3], 16)
    samples.regions.append(MappedRegion(int(match[1]), begin, end, int(match[4], 16), match[6].strip()))


def _read_sample(samples: PerfSamples, line: str, event: str, process: int | None) -> bool:
    """Count a line of `perf script` as a sample with its branches; False where it is none."""
    text, branches = _without_branches(line.rstrip())
    match = _last(_ALIGNED, text) or _last(_BEHIND_EVENT, text) or _AT_BEGIN.match(text)
    if match is None:
        _read_branches(samples, branches, event, process, "")
        return bool(branches)
    before = text[: match.start() + 1]
    if not event:
        event = _event(before)
    if process is None:
        process = _process(before)
    symbol, offset, file = _place(text[match.end() :].strip())
    samples.count(event, SampledPoint(int(match[1], 16), symbol, offset, file, process))
    _read_branches(samples, branches, event, process, file)
    return True


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007  the last one is wanted
        pass
    return match


def _without_branches(line: str) -> tuple[str, list[re.Match[str]]]:
    """(text in front of the branch records, the branch records)."""
    if "/-/" not in line:
        return line, []
    parts = re.split(r"(\s+)", line)
    matches = [_BRANCH.fullmatch(part) if "/" in part else None for part in parts]
    first_branch = next((at for at, match in enumerate(matches) if match is not None), len(parts))
    return "".join(parts[:first_branch]), [match for match in matches if match is not None]


def _place(text: str) -> tuple[str, int | None, str]:
    """(symbol, offset, file) of `cnt+0x1e (/tmp/a)`, "" and None for what is not there."""
    file = ""
    end = text.rfind(")")
    if end >= 0:
        begin = _opening_bracket(text, end)
        file, text = text[begin + 1 : end], text[:begin].rstrip()
    symbol, plus, digits = text.rpartition("+0x")
    if plus and _OFFSET.fullmatch(digits):
        return symbol, int(digits, 16), "" if file == _UNKNOWN else file
    if "+0x" in file:  # -F dsoff: behind the file
        file = file.rpartition("+0x")[0]
    return "" if text == _UNKNOWN else text, None, "" if file == _UNKNOWN else file


def _opening_bracket(text: str, end: int) -> int:
    """Index of the bracket that the one at `end` closes; `end` where there is none."""
    depth = 0
    for at in range(end, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return end


def _read_branches(
    samples: PerfSamples, branches: list[re.Match[str]], event: str, process: int | None, file: str
) -> None:
    for branch in branches:
        begin = _branch_end(branch["begin"], branch["begin_file"] or file, process)
        end = _branch_end(branch["end"], branch["end_file"] or file, process)
        if begin is not None and end is not None:
            samples.count_jump(event, begin, end)


def _branch_end(text: str, file: str, process: int | None) -> SampledPoint | None:
    if number := _NUMBER.fullmatch(text):
        return SampledPoint(int(number[1], 16), "", None, file, process)
    symbol, plus, digits = text.rpartition("+0x")
    if plus and _OFFSET.fullmatch(digits):
        return SampledPoint(None, symbol, int(digits, 16), file, process)
    return None


BEGINNING = 1 << 16
"""Bytes of a file by which it is recognised."""

_RIGHT = "what `perf script` or `perf annotate --stdio` prints is expected"


def read_samples(content: bytes, file_name: str, report: Callable[[], None] = lambda: None) -> PerfSamples:
    """Read the samples in a text of perf.

    Args:
        content: What `perf script` or `perf annotate --stdio` printed.
        file_name: Name of the file, for messages.
        report: Called every 5,000 lines; raises in order to stop.

    Raises:
        ExchangeError: The text has no samples, or too many places.
    """
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
    samples = PerfSamples()
    for samples in reader(lines):  # noqa: B007  it grows; the last one is complete
        report()
    if not samples.counts and not samples.branches:
        where = "" if samples.first_unread is None else f", e.g. line {samples.first_unread[0]}"
        raise ExchangeError(f"{file_name} has no sample in its {samples.lines:,} lines{where}; {_RIGHT}")
    return samples


_UNITS = ("Percent", "Samples", "Period", "Event")
_OF = "Disassembly of "
_SAMPLES = re.compile(r"([\d,]{1,20}) samples(?:, percent: ([a-z -]+))?")
_NAME = re.compile(r"\s*:\s*(?:\d+\s+)?(?:0x)?[0-9a-f]{1,16} <(.+)>:\s*")
_ROW = re.compile(r"\s*([\d.]+)(?:\s+[\d.]+)*\s*:\s*([0-9a-f]{1,16}):\s*\S.*")
_BESIDE = re.compile(r"\s*+(?::.*|-*\s*)")
_MAX_LINE_LENGTH = 2000  # characters of a line that names a symbol


@dataclass(frozen=True)
class _Head:
    """Title of a function's listing. `factor`: samples per number; `percent`: numbers are per cent of all."""

    file: str
    event: str
    factor: float
    percent: bool


def is_annotate(beginning: str) -> bool:
    """Whether a text that begins with `beginning` is of `perf annotate --stdio`."""
    return any(_title(line[:_MAX_LINE_LENGTH]) for line in beginning.splitlines()[:200])


def read_annotate(lines: Iterable[str]) -> Iterator[PerfSamples]:
    """Read line by line; yields the same growing `PerfSamples` every 5,000 lines, and at the end.

    Raises `ExchangeError` for too many places.
    """
    samples = PerfSamples()
    head, symbol = _Head("", "", 1.0, percent=False), ""
    for number, raw_line in enumerate(lines, start=1):
        samples.lines = number
        if number % 5000 == 0:
            yield samples
        line = raw_line.rstrip()[:_MAX_LINE_LENGTH]
        if title := _title(line):
            head, symbol = title, ""
            samples.percent = samples.percent or title.percent
        elif row := _ROW.fullmatch(line):
            value = _value(row[1])
            if value is None:
                samples.count_unread(number, line)
            elif value:
                point = SampledPoint(int(row[2], 16), symbol, None, head.file, of_file=True)
                samples.count(head.event, point, value * head.factor)
        elif name := _NAME.fullmatch(line):
            symbol = name[1]
        elif not _BESIDE.fullmatch(line):
            samples.count_unread(number, line)
    yield samples


def _title(line: str) -> _Head | None:
    """The head of a function's listing by `perf annotate`; None for any other line.

    Percentages are of the function's samples, from which they follow, unless the title says global.
    """
    unit, bar, title = line.partition("|")
    words = unit.split()
    if not bar or not words or words[0] not in _UNITS or _OF not in title:
        return None
    file_and_event, bracket, facts = title.partition(_OF)[2].rpartition(" (")
    sample_count = _SAMPLES.match(facts) if bracket else None
    if sample_count is None:
        file_and_event = title.partition(_OF)[2]
    file, among, event = file_and_event.rpartition(" for ")
    if not among:
        file, event = file_and_event, ""
    factor, percent = 1.0, False
    if words[0] == "Percent":
        percent = sample_count is None or "global" in (sample_count[2] or "")
        if sample_count is not None and not percent:
            factor = int(sample_count[1].replace(",", "") or 0) / 100
    return _Head(file.strip(), event.strip(), factor, percent)


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
