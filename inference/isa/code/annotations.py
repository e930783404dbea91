"""Notes of compilers, profilers and users on single instructions: source line, samples, latency.

No note changes the code of a block. Latencies are comments at the end of an instruction's line
(`# LATENCY 40`), or llvm-mca's (`# LLVM-MCA-LATENCY 40`), which count for all following instructions until
the next such comment; without a number it ends them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from inference.isa.code.block import BlockError

MAX_LATENCY = 10_000
"""Cycles; a miss in all caches takes some hundred."""

_MAX_TEXT_LENGTH = 200  # characters of a line that is quoted


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A line of source code. `file` and `text`: "" where the listing has none; `line`: 0 where unknown."""

    file: str = ""
    line: int = 0
    text: str = ""

    def __str__(self) -> str:
        place = ":".join(filter(None, (self.file, str(self.line or ""))))
        return f"{place}: {self.text}" if place and self.text else place or self.text


@dataclass(frozen=True, slots=True)
class InstructionLine:
    """What the text has besides an instruction.

    Args:
        line: Number of its line in the text, from 1.
        source: None without.
        samples: A profiler's number for it, in per cent or as a count; None without.
        latency: Cycles that the user gave; None without.
    """

    line: int
    source: SourcePlace | None = None
    samples: float | None = None
    latency: float | None = None


def cut_source(text: str) -> str:
    """A line of source code without indentation, at most as long as pages show it."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT_LENGTH else f"{line[: _MAX_TEXT_LENGTH - 1]}…"


_LATENCY = re.compile(
    r"(?:[#;]|//|/\*)[\s#;/*]{0,9}(?P<tool>LLVM-MCA-)?(?P<word>LATENCY)\b(?P<value>[^#;]{0,100})",
    re.IGNORECASE,
)
_CYCLES = re.compile(r"([+-]?\d{1,9}(?:\.\d{1,9})?)\s*(?:cycles?|cy|c)?", re.IGNORECASE)
"""`3`, `2.5 cycles`, `4cy`."""


class LatencyComment(NamedTuple):
    """A line's comment on latencies: `own` is that of the line's last instruction."""

    own: float | None = None


class LatencyComments:
    """Reads the comments with latencies of a text, line by line in order.

    A comment in capitals is taken at its word: a wrong one is an error. In small letters, it may be prose
    ("# latency matters here") or the name of a variable: wherever it has no number it is a comment.

    Attributes:
        usual: What llvm-mca's comment sets for the following instructions; None for nothing.
        notes: Wrong comments in small letters, as sentences without a full stop.
    """

    def __init__(self) -> None:
        self.usual: float | None = None
        self.notes: list[str] = []

    def read(self, raw: str, line: int, *, has_instruction: bool) -> LatencyComment | None:
        """Read a line; None without such a comment. Raises `BlockError` for a wrong one in capitals."""
        own: float | None = None
        has_any = False
        for comment in _LATENCY.finditer(raw):
            value = _value_of(comment["value"])
            if comment["tool"] and not value:
                self.usual, has_any = None, True
                continue
            cycles, problem = _cycles_of(value)
            if not comment["tool"] and not problem:
                problem = "" if has_instruction else "stands on a line without an instruction"
                problem = "is the second one for its instruction" if own is not None else problem
            if problem:
                has_any |= self._report(comment, value, problem, line)
                continue
            has_any = True
            if comment["tool"]:
                self.usual = cycles
            else:
                own = cycles
        return LatencyComment(own) if has_any else None

    def _report(self, comment: re.Match[str], value: str, problem: str, line: int) -> bool:
        """Raise or note a problem; False for a comment that only begins with the same word."""
        right = f"write LATENCY and 0 to {MAX_LATENCY:,} cycles at the end of an instruction's line"
        words = f"{comment['tool'] or ''}{comment['word']} {value[:40]}".strip()
        if comment["word"].isupper():
            raise BlockError(f"{words!r} {problem}: {right}", line, comment.start() + 1)
        if not _CYCLES.match(value):
            return False
        self.notes.append(f"line {line}: {words!r} {problem}, and is ignored")
        return True


def _value_of(text: str) -> str:
    """What follows the word, without a colon and the end of the comment."""
    return text.partition("*/")[0].strip().lstrip(":=").strip()


def _cycles_of(value: str) -> tuple[float, str]:
    """(cycles, what is wrong with them)."""
    number = _CYCLES.fullmatch(value)
    if number is None:
        return 0.0, "has no number of cycles"
    cycles = float(number[1])
    return cycles, "" if 0 <= cycles <= MAX_LATENCY else "is no possible latency"


_FILE = re.compile(r"\s*(?:(\d+)\s+)?\"([^\"]*)\"(?:\s+\"([^\"]*)\")?")
"""Number, folder and name: `1 "/home" "dot.c"`."""

_LOCATION = re.compile(r"\s*(\d+)\s+(\d+)")
_PLACE = re.compile(
    r"\s*([^\s:;\"<>()][^:;\"<>]*\.[A-Za-z]\w{0,4}|[A-Za-z]:[\\/][^:;\"<>]+):(\d+)(?::(\d+))?(?::(.*)|(?:\s*\(.*)?)"
)
"""`dot.c:5:     s += a[i];` of GCC, `dot.c:5:9` of clang, `/home/dot.c:5 (discriminator 3)` of objdump."""

_MICROSOFT = re.compile(r";\s*(?:Line\s+(\d+)\s*$|(\d+)\s*:(?:\s(.*))?$|File\s+(\S.*))", re.IGNORECASE)
"""`; Line 12`, `; 12 : s += a[i];`, `; File dot.c`."""

_INTEL = re.compile(r"\s*(\d{1,7})\.(\d{1,4})\s*")
"""Line and column, at the end of each instruction's line by Intel's classic compilers."""


_JULIA = re.compile(r";\s*@ (\S+):(\d+) within\b.*")
"""`; │ @ dot.jl:4 within `dot`` of Julia, without what it draws."""


class SourceComments:
    """Source lines by directives and comments of compilers' assembly. `place`: of the next instructions."""

    def __init__(self) -> None:
        self.place: SourcePlace | None = None
        self._files: dict[int, str] = {}
        self._texts: dict[tuple[str, int], str] = {}
        self._file = ""

    def directive(self, name: str, arguments: str) -> None:
        """Read `.file` and `.loc`; the file itself is enough of a path."""
        if name == "file" and (file := _FILE.match(arguments)):
            self._files[int(file[1] or 0)] = file[3] or file[2]
        elif name == "loc" and (location := _LOCATION.match(arguments)):
            self._set(self._files.get(int(location[1]), ""), int(location[2]))

    def read(self, comment: str, *, has_instruction: bool) -> SourcePlace | None:
        """Read a comment: the place of its line's instructions, or None and that of the following ones."""
        before = self.place
        if intel := _INTEL.fullmatch(comment) if has_instruction else None:
            self._set(self._file, int(intel[1]))
        elif place := _PLACE.fullmatch(comment):
            self._set(place[1].strip(), int(place[2]), place[4] or "")
        elif julia := _JULIA.fullmatch(comment):
            self._set(julia[1], int(julia[2]))
        elif microsoft := _MICROSOFT.match(comment):
            if microsoft[4]:
                self._file = microsoft[4].strip()
                return None
            self._set(self._file, int(microsoft[1] or microsoft[2]), (microsoft[3] or "").strip())
        else:
            return None
        source_place = self.place if has_instruction else None
        self.place = before if has_instruction else self.place
        return source_place

    def _set(self, file: str, line: int, text: str = "") -> None:
        if not line:
            self.place = None  # DWARF: code of no line
            return
        if text := cut_source(text):
            self._texts[file, line] = text
        source_line = text or self._texts.get((file, line), "")
        if self.place is None or (self.place.file, self.place.line, self.place.text) != (
            file,
            line,
            source_line,
        ):
            self.place = SourcePlace(file, line, source_line)


_HEADING = re.compile(
    r"Disassembly of |.*:\s+file format |Percent\b|Dump of |End of |Source code |"
    r"(?!case\b)[^(]*\(.*\)(?: const)?:$|\.\.\.$"
)
_NUMBERED = re.compile(r"\s*(\d{1,7})\t(.*)")
_BRACES = re.compile(r"[{}();,\s]+")
_FILE_NAME = re.compile(r"[^\s.:][^\s:]*\.[A-Za-z]\w{0,3}")


_JAVA = re.compile(r";\s*- ([\w.$/<>]+::[\w$<>]+)@-?\d+(?: \(line (\d+)\))?")
"""The method of the instruction in the same or a preceding line, the innermost one first: HotSpot's hsdis."""


def java_place(line: str) -> SourcePlace | None:
    """The Java method in a line of HotSpot's disassembly."""
    match = _JAVA.search(line)
    return None if match is None else SourcePlace(match[1], int(match[2] or 0))


class ListedSource:
    """Source lines between those of a listing, as of `objdump -S -l`. `place`: of the next instructions."""

    def __init__(self) -> None:
        self.place: SourcePlace | None = None
        self._file, self._line = "", 0

    def label(self, label: str, address: int | None) -> None:
        """Read a label on a line of its own: a function, or gdb's name of a file."""
        self.place, self._line = None, 0
        is_file = address is None and _FILE_NAME.fullmatch(label)
        self._file = label if is_file else self._file

    def read(self, text: str) -> None:
        """Read a line without an instruction."""
        line = text.strip()
        if line.startswith(";"):  # llvm-objdump
            text = line = line[1:].strip()
        if place := _PLACE.fullmatch(line):
            self._file, self._line = place[1], int(place[2])
            self.place = SourcePlace(self._file, self._line, cut_source(place[4] or ""))
        elif number := _NUMBERED.fullmatch(text):  # gdb
            self.place = SourcePlace(self._file, int(number[1]), cut_source(number[2]))
        elif line and not _HEADING.match(line) and (any(map(str.isalnum, line)) or _BRACES.fullmatch(line)):
            self.place = SourcePlace(self._file if self._line else "", self._line, cut_source(line))
