"""Samples of running code at the addresses of a file.

A symbol with an offset says where in the file a sample is, wherever the program was loaded. Otherwise it is
found by what the process had mapped, by how far samples with symbols of the same file have been moved, or, of
a program that is loaded where its addresses say, by itself. What is placed by none of these is counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from inference.formats.perf_texts import Mapped, PerfSamples, SampledPoint
from inference.formats.problems import ExchangeError
from inference.isa.code.binaries.program import CompiledProgram

_ENOUGH = 0.5
"""Of the symbols of another file's samples that the program knows, to take them for its own."""
_NAMED = 5
_LONGEST_NAME = 255


@dataclass
class Placed:
    """`counts`: samples by address of the file; `jumps`: how often a jump was taken, (from, to).

    `elsewhere`: samples of other files, by their names; `lost`: those without a place, by the reason.
    """

    file: str
    event: str
    percent: bool
    counts: dict[int, float] = field(default_factory=dict)
    jumps: Counter[tuple[int, int]] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> float:
        """All samples of the recording, wherever they are."""
        return sum(self.counts.values()) + self.elsewhere.total() + self.lost.total()


def placed(samples: PerfSamples, program: CompiledProgram, file_name: str, wanted: str = "") -> Placed:
    """The samples of one event, that with the most. `wanted`: how perf calls the program, "" to find out.

    Raises `ExchangeError` where no sample belongs to it.
    """
    event = next(iter(samples.events), next(iter(samples.branches), ""))
    counts = samples.counts.get(event, Counter())
    file = _file_of(samples, counts, program, file_name, wanted)
    found = Placed(file, _printable(event), samples.percent)
    places = _Places(program, file, samples.mapped, counts)
    for point, number in counts.items():
        if not places.ours(point):
            found.elsewhere[_name(point.file)] += number
            continue
        address, why = places.address(point)
        if address is None:
            found.lost[why] += number
        else:
            found.counts[address] = found.counts.get(address, 0.0) + number
    for (begin, end), number in samples.branches.get(event, {}).items():
        if places.ours(begin) and places.ours(end):
            one, other = places.address(begin)[0], places.address(end)[0]
            if one is not None and other is not None:
                found.jumps[one, other] += number
    if not found.counts and not found.jumps:
        raise ExchangeError(_nothing(found, file_name))
    return found


def _nothing(found: Placed, file_name: str) -> str:
    if found.lost:
        why = "; ".join(f"{number:,.0f} {reason}" for reason, number in found.lost.most_common())
        return f"no sample could be placed in {file_name}: {why}"
    names = ", ".join(_told(name) for name, _ in found.elsewhere.most_common(_NAMED))
    return f"no sample is in {file_name}, they are in: {names}"


def _name(file: str) -> str:
    return _printable(PurePosixPath(file.removesuffix(" (deleted)")).name or file)


def _printable(text: str) -> str:
    """At most a file name's length of it; messages and results repeat it."""
    return "".join(char if char.isprintable() else "?" for char in text[:_LONGEST_NAME])


def _told(file: str) -> str:
    return file or "a file that is not named"


def _file_of(
    samples: PerfSamples,
    counts: Mapping[SampledPoint, float],
    program: CompiledProgram,
    file_name: str,
    wanted: str,
) -> str:
    """How the samples call the program. Raises `ExchangeError` where none of theirs can be it."""
    numbers: Counter[str] = Counter()
    for point, number in counts.items():
        numbers[_name(point.file)] += number  # type: ignore[assignment]  # shares, of annotations
    mapped = (_name(one.file) for one in samples.mapped)
    names = list(dict.fromkeys([*(name for name, _ in numbers.most_common()), *mapped]))
    for name in (_name(wanted), _name(file_name), PurePosixPath(file_name).stem):
        if name and name in names:
            return name
    if wanted:
        raise ExchangeError(f"no sample is in {wanted!r}; they are in: {', '.join(names[:_NAMED])}")
    if not any(names):
        return ""
    for name in names:
        symbols = {point.symbol for point in counts if _name(point.file) == name and point.symbol}
        known = sum(bool(program.addresses_of(symbol)) for symbol in symbols)
        if symbols and known > _ENOUGH * len(symbols):
            return name
    raise ExchangeError(
        f"no sample is in {file_name}; they are in: {', '.join(names[:_NAMED])}. If one of these is the "
        "file under another name, give that"
    )


class _Places:
    """Where points are in a program that samples call by the name of a file."""

    def __init__(
        self, program: CompiledProgram, file: str, mapped: list[Mapped], counts: Mapping[SampledPoint, float]
    ) -> None:
        self._program = program
        self._file = file
        own = sorted(
            (one for one in mapped if _name(one.file) == file or not file), key=lambda one: one.begin
        )
        self._mapped = own
        self._begins = [one.begin for one in own]
        self._moved = self._moves(counts)

    def ours(self, point: SampledPoint) -> bool:
        """Whether a point is in this file; what names no file may be."""
        if point.file or not self._file:
            return _name(point.file) == self._file
        return point.address is None or bool(self._by_map(point)) or not self._mapped

    def address(self, point: SampledPoint) -> tuple[int | None, str]:
        """(address of the file, "") or (None, why not)."""
        program = self._program
        if point.of_file and point.address is not None:
            return (point.address, "") if program.holds(point.address) else (None, "outside of its code")
        if (known := self._by_symbol(point)) is not None:
            return known, ""
        if point.address is None:
            return (
                None,
                f"at a symbol that the file does not have exactly once, e.g. {_printable(point.symbol)[:60]}",
            )
        found = self._by_map(point)
        if not found and self._moved is not None:
            found = {point.address - self._moved}
        if not found and program.headers.fixed:
            found = {point.address}
        if not found:
            near = program.address_at(point.address)  # perf maps the addresses of call chains itself
            found = set() if near is None else {near}
        held = {address for address in found if program.holds(address)}
        if len(held) == 1:
            return held.pop(), ""
        if found:
            return None, "outside of its code"
        return None, (
            "at addresses of a running process: print symbols with offsets (-F ip,sym,symoff,dso) or what "
            "was mapped (--show-mmap-events)"
        )

    def _by_symbol(self, point: SampledPoint) -> int | None:
        if not point.symbol or point.offset is None:
            return None
        known = self._program.addresses_of(point.symbol)
        if len(known) > 1 and point.address is not None:  # local functions of one name: pages tell them apart
            known = [one for one in known if (one + point.offset - point.address) % 4096 == 0] or known
        address = known[0] + point.offset if len(known) == 1 else None
        return address if address is not None and self._program.holds(address) else None

    def _by_map(self, point: SampledPoint) -> set[int]:
        assert point.address is not None
        found = set()
        at = bisect_right(self._begins, point.address)
        around = [one for one in self._mapped[max(at - 64, 0) : at] if point.address < one.end]
        if own := [one for one in around if one.process == point.process]:
            around = own
        for one in around:
            address = self._program.address_at(point.address - one.begin + one.offset)
            if address is not None:
                found.add(address)
        return found

    def _moves(self, counts: Mapping[SampledPoint, float]) -> int | None:
        """How far all samples with symbols were moved, None where they do not agree."""
        moves = set()
        for point in counts:
            if point.address is not None and not point.of_file and self.ours(point):
                known = self._by_symbol(point)
                if known is not None:
                    moves.add(point.address - known)
                    if len(moves) > 1:
                        return None
        return moves.pop() if moves else None
