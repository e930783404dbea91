"""Listings written by hand, five of each program: read to their loops, or refused with line and reason.

`hand_made/PROGRAM.txt` has them below lines with what is expected: `@@ loop HEX` is the only loop of the
text, `@@ blocks HEX …` all its blocks, `@@ refused LINE WORDS` an error there that contains the words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from inference.isa.blocks import LOOP, BlockError, read

LISTINGS_PER_PROGRAM = 5
_MARK = re.compile(r"^@@ ", re.MULTILINE)


class HandMadeListing(NamedTuple):
    name: str
    expected: list[str]
    text: str

    def problem(self) -> str:
        """How the reading differs from what is expected, "" if it does not."""
        kind, *values = self.expected
        try:
            reading = read(self.text, 99)
        except BlockError as error:
            line, *words = values
            right = kind == "refused" and error.line == int(line) and " ".join(words) in str(error)
            return "" if right else f"refused in line {error.line}: {error}"
        is_loop = kind == "loop"
        codes = [piece.block.hex for piece in reading.pieces if not is_loop or piece.block.kind == LOOP]
        lost = [line.text for line in reading.dropped]
        return "" if (kind, codes, lost) == (kind, values, []) and kind != "refused" else f"{codes} {lost}"


def hand_made_listings() -> list[HandMadeListing]:
    listings = []
    for path in sorted((Path(__file__).parent / "hand_made").glob("*.txt")):
        for number, part in enumerate(_MARK.split(path.read_text())[1:]):
            expected, _, text = part.partition("\n")
            listings.append(HandMadeListing(f"{path.stem} {number}", expected.split(), text))
    return listings


@pytest.mark.parametrize("listing", hand_made_listings(), ids=lambda listing: listing.name)
def test_a_listing_made_by_hand_is_read_to_its_loop(listing: HandMadeListing) -> None:
    assert listing.problem() == ""


def test_each_program_has_five_listings() -> None:
    programs = [listing.name.rpartition(" ")[0] for listing in hand_made_listings()]
    assert {programs.count(program) for program in programs} == {LISTINGS_PER_PROGRAM}
