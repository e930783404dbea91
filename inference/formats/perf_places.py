"""Maps the samples of a running program to addresses of its file.

In this order: by a symbol with an offset, which is independent of where the program was loaded; by the
process's memory mappings; by the distance that samples with symbols of the same file were moved; for a
program that is loaded at fixed addresses, by the address itself. Samples that none of these places are
counted with the reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from inference.formats.perf_texts import MappedRegion, PerfSamples, SampledPoint
from inference.formats.problems import ExchangeError
from inference.isa.code.binaries.program import CompiledProgram

_KNOWN_SHARE = 0.5
"""Share of a sampled file's symbols that the program must have for the file to count as the program."""

_FILES_LISTED = 5  # that an error names
_MAX_NAME_LENGTH = 255  # characters of a file's name, as Linux allows


@dataclass
class PlacedSamples:
    """`counts`: samples by address in the file; `jumps`: jumps taken, by (from, to) address.

    `elsewhere`: samples in other files, by file name; `lost`: samples without an address, by reason.
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
        """All samples of the recording: in this file, in other files, and not placed."""
        return sum(self.counts.values()) + self.elsewhere.total() + self.lost.total()


def place_samples(
    samples: PerfSamples, program: CompiledProgram, file_name: str, program_name: str = ""
) -> PlacedSamples:
    """Place the samples of the event that has most of them.

    Args:
        samples: What perf printed.
        program: The file's code.
        file_name: Its name, for detection and messages.
        program_name: What perf calls the program; "" to detect it.

    Raises:
        ExchangeError: No sample belongs to the program.
    """
    event = next(iter(samples.events), next(iter(samples.branches), ""))
    counts = samples.counts.get(event, Counter())
    file = _file_of(samples, counts, program, file_name, program_name)
    result = PlacedSamples(file, _printable(event), samples.percent)
    places = _Places(program, file, samples.regions, counts)
    for point, number in counts.items():
        if not places.holds_point(point):
            result.elsewhere[_name(point.file)] += number
            continue
        address, why = places.address(point)
        if address is None:
            result.lost[why] += number
        else:
            result.counts[address] = result.counts.get(address, 0.0) + number
    for (begin, end), number in samples.branches.get(event, {}).items():
        if places.holds_point(begin) and places.holds_point(end):
            begin_address, end_address = places.address(begin)[0], places.address(end)[0]
            if begin_address is not None and end_address is not None:
                result.jumps[begin_address, end_address] += number
    if not result.counts and not result.jumps:
        raise ExchangeError(_no_sample_message(result, file_name))
    return result


def _no_sample_message(placed_samples: PlacedSamples, file_name: str) -> str:
    if placed_samples.lost:
        why = "; ".join(f"{number:,.0f} {reason}" for reason, number in placed_samples.lost.most_common())
        return f"no sample could be placed in {file_name}: {why}"
    names = ", ".join(_file_label(name) for name, _ in placed_samples.elsewhere.most_common(_FILES_LISTED))
    return f"no sample is in {file_name}, they are in: {names}"


def _name(file: str) -> str:
    return _printable(PurePosixPath(file.removesuffix(" (deleted)")).name or file)


def _printable(text: str) -> str:
    """The text cut to a file name's length, for messages, with ? for unprintable characters."""
    return "".join(char if char.isprintable() else "?" for char in text[:_MAX_NAME_LENGTH])


def _file_label(file: str) -> str:
    return file or "a file that is not named"


def _file_of(
    samples: PerfSamples,
    counts: Mapping[SampledPoint, float],
    program: CompiledProgram,
    file_name: str,
    program_name: str,
) -> str:
    """The samples' name of the program. Raises `ExchangeError` where none of their files can be it."""
    numbers: Counter[str] = Counter()
    for point, number in counts.items():
        numbers[_name(point.file)] += number  # type: ignore[assignment]  # shares, of annotations
    mapped = (_name(region.file) for region in samples.regions)
    names = list(dict.fromkeys([*(name for name, _ in numbers.most_common()), *mapped]))
    for name in (_name(program_name), _name(file_name), PurePosixPath(file_name).stem):
        if name and name in names:
            return name
    if program_name:
        raise ExchangeError(
            f"no sample is in {program_name!r}; they are in: {', '.join(names[:_FILES_LISTED])}"
        )
    if not any(names):
        return ""
    for name in names:
        symbols = {point.symbol for point in counts if _name(point.file) == name and point.symbol}
        known_symbols = sum(bool(program.addresses_of(symbol)) for symbol in symbols)
        if symbols and known_symbols > _KNOWN_SHARE * len(symbols):
            return name
    raise ExchangeError(
        f"no sample is in {file_name}; they are in: {', '.join(names[:_FILES_LISTED])}. If one of these is "
        "the file under another name, give that"
    )


class _Places:
    """Finds the addresses of sampled points in a program."""

    def __init__(
        self,
        program: CompiledProgram,
        file: str,
        mapped: list[MappedRegion],
        counts: Mapping[SampledPoint, float],
    ) -> None:
        self._program = program
        self._file = file
        regions = (region for region in mapped if _name(region.file) == file or not file)
        self._regions = sorted(regions, key=lambda region: region.begin)
        self._begins = [region.begin for region in self._regions]
        self._distance = self._common_distance(counts)

    def holds_point(self, point: SampledPoint) -> bool:
        """Whether a point is in this file; a point without a file is if its address was mapped from it."""
        if point.file or not self._file:
            return _name(point.file) == self._file
        return point.address is None or bool(self._by_map(point)) or not self._regions

    def address(self, point: SampledPoint) -> tuple[int | None, str]:
        """(address in the file, ""), or (None, reason)."""
        program = self._program
        if point.of_file and point.address is not None:
            return (point.address, "") if program.has_code(point.address) else (None, "outside of its code")
        if (by_symbol := self._by_symbol(point)) is not None:
            return by_symbol, ""
        if point.address is None:
            return (
                None,
                f"at a symbol that the file does not have exactly once, e.g. {_printable(point.symbol)[:60]}",
            )
        candidates = self._by_map(point)
        if not candidates and self._distance is not None:
            candidates = {point.address - self._distance}
        if not candidates and program.headers.fixed:
            candidates = {point.address}
        if not candidates:
            chain_address = program.address_at(point.address)  # perf maps the addresses of call chains itself
            candidates = set() if chain_address is None else {chain_address}
        addresses = {address for address in candidates if program.has_code(address)}
        if len(addresses) == 1:
            return addresses.pop(), ""
        if candidates:
            return None, "outside of its code"
        return None, (
            "at addresses of a running process: print symbols with offsets (-F ip,sym,symoff,dso) or what "
            "was mapped (--show-mmap-events)"
        )

    def _by_symbol(self, point: SampledPoint) -> int | None:
        if not point.symbol or point.offset is None:
            return None
        bases = self._program.addresses_of(point.symbol)
        if len(bases) > 1 and point.address is not None:  # local functions of one name: pages tell them apart
            bases = [base for base in bases if (base + point.offset - point.address) % 4096 == 0] or bases
        address = bases[0] + point.offset if len(bases) == 1 else None
        return address if address is not None and self._program.has_code(address) else None

    def _by_map(self, point: SampledPoint) -> set[int]:
        assert point.address is not None
        addresses = set()
        at = bisect_right(self._begins, point.address)
        regions = [region for region in self._regions[max(at - 64, 0) : at] if point.address < region.end]
        if same_process := [region for region in regions if region.process == point.process]:
            regions = same_process
        for region in regions:
            address = self._program.address_at(point.address - region.begin + region.offset)
            if address is not None:
                addresses.add(address)
        return addresses

    def _common_distance(self, counts: Mapping[SampledPoint, float]) -> int | None:
        """Load address minus file address of all samples with symbols; None where they disagree."""
        distances = set()
        for point in counts:
            if point.address is not None and not point.of_file and self.holds_point(point):
                by_symbol = self._by_symbol(point)
                if by_symbol is not None:
                    distances.add(point.address - by_symbol)
                    if len(distances) > 1:
                        return None
        return distances.pop() if distances else None
