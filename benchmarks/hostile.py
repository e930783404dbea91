"""Files, uploads and requests that nobody should send: how many of them are answered as they should be.

`files`: every reader by itself, with 100,000 inputs each, made from small sound files (see
`_input_mutations`). An input is a function of the seed, the reader's name and its number, so each failure can
be had again; what fails is made smaller as long as it fails in the same way. A failure is whatever a reader
raises that is not its own kind of error, a value that no database could hold, or more than five seconds.
`assembly`: texts that look like assembly and would do harm in an assembler (`_reader_texts`), read as pasted
code: what is printed of it is read as the same code. `uploads`: 2,000 of these files through the pages of a
site, from the form to the import by a worker. `requests`: 10,000 that schemathesis makes of the API's
document, sound and unsound ones. `floods`: bodies of few megabytes that cost much and texts of one word,
repeated, sent to a site in processes of its own, whose `/health/` and memory are watched meanwhile.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence

from benchmarks import Result
from benchmarks._input_floods import floods
from benchmarks._input_importers import IMPORTERS, Importer
from benchmarks._input_mutations import mutated
from benchmarks._input_requests import fuzz_requests
from benchmarks._input_site import furnished
from benchmarks._input_uploads import fuzz_uploads
from benchmarks._reader_texts import text_of
from benchmarks._sites import temporary_database
from benchmarks._survey import FAILED, Survey, shrunk
from inference.isa.blocks import BlockError, read

INPUTS, UPLOADS, REQUESTS = 100_000, 2_000, 10_000
QUICK = 50
"""Times fewer of each, to see whether it works."""

SEED = 12
MAX_PIECES = 1000  # pieces of code that a pasted text may have


def run(quick: bool) -> Iterator[Result]:
    """All cases; `PMWEB_HOSTILE` names a few of them, `PMWEB_HOSTILE_INPUTS` another number of each."""
    cases = os.environ.get("PMWEB_HOSTILE", "").split()
    override = os.environ.get("PMWEB_HOSTILE_INPUTS")
    inputs, uploads, requests = (
        int(override or many) // (QUICK if quick else 1) for many in (INPUTS, UPLOADS, REQUESTS)
    )
    with temporary_database():
        browser, token = furnished()
        for importer in IMPORTERS:
            if not cases or importer.name in cases:
                yield _files(importer, inputs).result()
        if not cases or "assembly" in cases:
            yield _assembly(inputs).result()
        if not cases or "uploads" in cases:
            yield fuzz_uploads(browser, SEED, uploads).result()
        if not cases or "requests" in cases:
            yield fuzz_requests(token, SEED, requests).result()
    if not cases or "floods" in cases:
        yield from floods(quick)


def _files(importer: Importer, many: int) -> Survey:
    """Give an importer so many hostile files; of each new kind of failure, a shrunk example is kept."""
    survey = Survey(importer.name, SEED)
    sound = importer.sound()
    for number in range(many):
        content = input_of(importer.name, number, sound)
        outcome = outcome_of(importer, content, survey)
        example: object = ""
        if outcome.startswith(FAILED) and outcome.removeprefix(FAILED) not in survey.failures:
            small = shrunk(content, lambda part, outcome=outcome: outcome_of(importer, part) == outcome)  # type: ignore[misc]
            example = {"number": number, "bytes": len(small), "input": repr(small[:300])}
        survey.count(outcome, example)
    return survey


def _assembly(many: int) -> Survey:
    survey = Survey("assembly", SEED)
    for number in range(many):
        text = text_of(SEED, number, __file__)
        survey.count(survey.attempt(lambda text=text: outcome_of_code(text)), text)  # type: ignore[misc]
    return survey


def outcome_of_code(text: str) -> str:
    """`read`, `refused`, or that what is printed of a piece is other code."""
    try:
        blocks = [piece.block for piece in read(text, MAX_PIECES).pieces]
    except BlockError:
        return "refused"
    printed = [piece.block.code for block in blocks for piece in read(block.text, MAX_PIECES).pieces]
    is_same = printed == [block.code for block in blocks]
    return "read" if is_same else f"{FAILED}what is printed of it is read as other code"


def input_of(name: str, number: int, sound: Sequence[bytes]) -> bytes:
    """The input of this number for a reader; the same every time."""
    return mutated(sound, random.Random(f"{SEED} {name} {number}"))


def outcome_of(importer: Importer, content: bytes, survey: Survey | None = None) -> str:
    """`accepted`, `refused`, or how and where the reader fails."""
    return (survey or Survey()).attempt(lambda: "accepted" if importer.read(content) else "refused")
