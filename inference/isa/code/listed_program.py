"""A listing as a program: addresses determine the layout, and parts that repeat addresses are kept apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from inference.isa.code.block import BlockError, DroppedLine, dropped_line, line_numbers
from inference.isa.code.listings import ListedLine, Listing
from inference.isa.code.markers import RegionMarkers, split_regions
from inference.isa.code.pieces import AssemblyProgram, ProgramInstruction

_NEVER_FALLS_THROUGH = ("jump", "end")
_MAX_CODE_BYTES = 15  # of an instruction
_ADDRESSES = 1 << 64
"""Of a part of a listing: each has a range of its own, as parts may repeat addresses."""


@dataclass(frozen=True, slots=True)
class ListedPlace:
    """A line with code and what stands before it; `is_entry`: a function begins there."""

    line: ListedLine
    labels: tuple[str, ...] = ()
    is_entry: bool = False


class LineReader(Protocol):
    """Reads the code of single lines, of one instruction set.

    Attributes:
        unresolved_jumps: Lines of jumps with unknown targets.
        contradictions: Lines whose text is another instruction than their bytes.
        misfits: Lines whose text is not encoded in as many bytes as their addresses say.
    """

    unresolved_jumps: list[int]
    contradictions: list[int]
    misfits: list[int]

    def instruction(
        self,
        line: ListedLine,
        length: int | None,
        labels: tuple[str, ...],
        places: Mapping[str, int],
        *,
        is_entry: bool,
    ) -> ProgramInstruction | None:
        """The instruction of a line, None where the listing contains data. Raises `BlockError`.

        Args:
            line: Line with an address.
            length: Bytes to the next address, None where unknown.
            labels: Labels of its address.
            places: Addresses of all labels.
            is_entry: Whether a function begins with it.
        """

    def without_addresses(self, part: Sequence[ListedPlace]) -> Sequence[ProgramInstruction]:
        """The instructions of lines in which only targets of jumps have addresses, as in `perf annotate`.

        Raises `BlockError` with the line.
        """


def program_of_listing(
    listing: Listing, lines: Sequence[ListedLine], reader: LineReader, markers: RegionMarkers
) -> AssemblyProgram:
    """The program of a listing. Raises `BlockError` with the line.

    Args:
        listing: Its notes and other lines.
        lines: Lines of the listing, one for each instruction or label.
        reader: Reader of the instruction set.
        markers: Markers of regions.
    """
    result = _Result(Counter(listing.skipped), list(listing.dropped))
    is_bare = has_bare_lines(lines)
    instructions: list[ProgramInstruction] = []
    for number, part in enumerate(_parts(lines, result.skipped)):
        part_instructions = (
            reader.without_addresses(part) if is_bare else tuple(_instructions(part, reader, result))
        )
        instructions += (_move(instruction, number * _ADDRESSES) for instruction in part_instructions)
    notes = [
        note.format(line_numbers(numbers))
        for note, numbers in (
            ("the addresses have a gap after {}: a block ends there", result.gaps),
            ("the target of the jump in {} is not in the listing", reader.unresolved_jumps),
            ("the text in {} is another instruction than its bytes: the bytes count", reader.contradictions),
            ("the text in {} has other code than its addresses leave room for", reader.misfits),
        )
        if numbers
    ]
    unmarked, regions = split_regions(instructions, markers)
    dropped = sorted(result.dropped, key=lambda line: line.line)
    return AssemblyProgram(unmarked, result.skipped, (), regions, tuple(dropped), (*listing.notes, *notes))


def has_bare_lines(lines: Sequence[ListedLine]) -> bool:
    """Whether an instruction has no address: then only targets of jumps have some."""
    return any(line.text and line.address is None for line in lines)


@dataclass
class _Result:
    """What is read of a listing besides its instructions; `gaps`: lines of the instructions before them."""

    skipped: Counter[str]
    dropped: list[DroppedLine]
    gaps: list[int] = field(default_factory=list)


def _parts(lines: Sequence[ListedLine], skipped: Counter[str]) -> Iterator[list[ListedPlace]]:
    """The lines with code, in parts in which each address occurs once, in the order of the addresses.

    A part ends where a function begins at a lower address or an address is repeated with other code, as where
    the sections or files of a text begin at 0 each. The same code at the same address, as when a debugger
    shows it twice, is counted as skipped.
    """
    part: dict[int | str, ListedPlace] = {}
    labels: list[str] = []
    is_entry, highest = False, -1
    for line in lines:
        if not (line.text or line.code):
            labels.append(line.label)
            is_entry = is_entry or line.address is not None
            continue
        place = ListedPlace(line, tuple(labels), is_entry)
        address = line.address
        key = f"line {line.number}" if address is None else address
        earlier = part.get(key)
        is_lower = is_entry and address is not None and address <= highest
        if (
            earlier is not None
            and not is_lower
            and (earlier.line.code, earlier.line.text) == (line.code, line.text)
        ):
            skipped["repeated instruction"] += 1
            part[key] = replace(earlier, line=_with_count(earlier.line, line.count))
        else:
            if is_lower or earlier is not None:
                yield _in_order(part)
                part, highest = {}, -1
            part[key] = place
            highest = max(highest, -1 if address is None else address)
        labels, is_entry = [], False
    yield _in_order(part)


def _with_count(line: ListedLine, count: float | None) -> ListedLine:
    return line if count is None else replace(line, count=max(line.count or 0.0, count))


def _in_order(part: Mapping[int | str, ListedPlace]) -> list[ListedPlace]:
    places = list(part.values())
    if all(place.line.address is not None for place in places):
        places.sort(key=lambda place: place.line.address or 0)
    return places


def _move(instruction: ProgramInstruction, distance: int) -> ProgramInstruction:
    step = instruction.step
    if distance:
        target = None if step.target is None else step.target + distance
        instruction.step = step._replace(address=step.address + distance, target=target)
    return instruction


def _instructions(
    part: Sequence[ListedPlace], reader: LineReader, result: _Result
) -> Iterator[ProgramInstruction]:
    """The instructions of a part with addresses. Raises `BlockError` with the line."""
    places: dict[str, int] = {}
    for place in part:
        if place.line.address is not None:
            places.update((label, place.line.address) for label in place.labels if label not in places)
    is_data, end, previous = False, 0, 0
    for place, length in zip(part, _lengths(part), strict=True):
        line = place.line
        try:
            instruction = reader.instruction(line, length, place.labels, places, is_entry=place.is_entry)
        except BlockError as error:
            raise error.at(line.number) from None
        if instruction is not None:
            if previous and line.address != end and not (is_data or place.labels or place.is_entry):
                result.gaps.append(previous)
            step = instruction.step
            end, previous = step.address + len(step.code), line.number
            is_data = step.flow in _NEVER_FALLS_THROUGH
            yield instruction
        elif is_data:
            result.skipped["data"] += 1
        else:
            text = line.text or line.code.hex(" ")
            result.dropped.append(dropped_line(line.number, text, "is no instruction"))


def _lengths(part: Sequence[ListedPlace]) -> list[int | None]:
    """The number of bytes to the next address of each line; None where unknown or too large."""
    addresses = [place.line.address for place in part]
    lengths: list[int | None] = []
    for address, following in zip(addresses, [*addresses[1:], None], strict=True):
        length = None if address is None or following is None else following - address
        lengths.append(length if length is not None and 0 < length <= _MAX_CODE_BYTES else None)
    return lengths
