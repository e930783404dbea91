"""Blocks as JSON for other programs: decoded ones, and sampled ones with the answers of predictors. The
latter:

{"isa": "x86-64",                           of all blocks; documents without it are of x86-64
 "blocks": ["4801d8", …],
 "answers": [[1.03, "crash", …], …],       a list per tool: cycles, or the kind of failure
 "details": [{"1": "message of the tool"}, {}],     per tool, by the index of the block, from 0
 "seconds": [[0.004, …], …]}                a list per tool, where run times are known
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationError

from inference.core.protocols import Json
from inference.formats.archived_parts import ArchivedPart, first_flaw
from inference.formats.problems import ExchangeError
from inference.isa.blocks import BlockName, BlocksOfText, Piece
from inference.predictors.protocol import Answer, Failure
from inference.predictors.samples import MAX_CODE_BYTES, Sample

_FAILURES = {failure.value: failure for failure in Failure}
_Number = Annotated[float, Field(ge=0, lt=1e300)]
_Detail = Annotated[str, Field(max_length=20_000)]


def _read_code(text: object) -> bytes:
    try:
        code = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        code = b""
    if not 0 < len(code) <= MAX_CODE_BYTES:
        raise ValueError(f"{str(text)[:60]!r} is no machine code in hexadecimal digits")
    return code


def _read_answer(value: object) -> Answer:
    if isinstance(value, str) and value in _FAILURES:
        return Answer(failure=_FAILURES[value])
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e300:
        return Answer(cycles=float(value))
    failures = ", ".join(_FAILURES)
    raise ValueError(f"an answer is a number from 0 on or one of {failures}, not {str(value)[:60]!r}")


class _SampleDocument(ArchivedPart):
    """`answers`, `details` and `seconds` have an entry per tool, with values for each of the `blocks`."""

    blocks: list[Annotated[bytes, PlainValidator(_read_code)]]
    answers: list[list[Annotated[Answer, PlainValidator(_read_answer)]]]
    details: list[dict[str, _Detail]]
    seconds: list[list[_Number]] | None = None

    def samples(self, tools: int) -> list[Sample]:
        """The samples. Raises `ValueError` for another number of tools, or of values of a tool."""
        count, times = len(self.blocks), self.seconds or []
        sizes = {len(self.answers), len(self.details), tools if self.seconds is None else len(times)}
        if sizes != {tools}:
            raise ValueError(
                f"answers, details and seconds: a list of {tools} is expected, one for each tool"
            )
        if {*map(len, self.answers), *map(len, times)} - {count}:
            raise ValueError(f"a tool has {count} answers and seconds, one for each block")
        return [
            Sample(
                code,
                tuple(
                    replace(column[at], detail=details.get(str(at), ""))
                    for column, details in zip(self.answers, self.details, strict=True)
                ),
                tuple(column[at] for column in times),
            )
            for at, code in enumerate(self.blocks)
        ]


def sample_document(samples: Sequence[Sample], isa: str) -> Json:
    """Samples of blocks of an instruction set as a document; {} for no samples."""
    if not samples:
        return {}
    tools = range(len(samples[0].answers))
    document: Json = {
        "isa": isa,
        "blocks": [sample.code.hex() for sample in samples],
        "answers": [[_answer_json(sample.answers[tool]) for sample in samples] for tool in tools],
        "details": [
            {str(at): text for at, sample in enumerate(samples) if (text := sample.answers[tool].detail)}
            for tool in tools
        ],
    }
    if samples[0].seconds:
        document["seconds"] = [[sample.seconds[tool] for sample in samples] for tool in tools]
    return document


def read_samples(document: Any, tools: int, where: str) -> list[Sample]:
    """The inverse of `sample_document`.

    Args:
        document: The document; {} gives [].
        tools: Number of tools that must have answered.
        where: What messages call the document.

    Raises:
        ExchangeError: The document has another shape.
    """
    if document == {}:
        return []
    if not isinstance(document, dict):
        raise ExchangeError(f"{where}: samples are an object with blocks, answers and details")
    try:
        return _SampleDocument.model_validate(document).samples(tools)
    except ValidationError as error:
        raise ExchangeError(first_flaw(error, where)) from error
    except ValueError as error:
        raise ExchangeError(f"{where}: {error}") from error


def _answer_json(answer: Answer) -> float | str:
    return answer.failure.value if answer.cycles is None and answer.failure else float(answer.cycles or 0.0)


def decoded_json(blocks: BlocksOfText) -> Json:
    """Decoded blocks as JSON. `skipped`: number of lines or statements without code.

    `dropped`: lines that look like code and are in no block.
    """
    return {
        "blocks": [_piece_json(piece) for piece in blocks.pieces],
        "skipped": blocks.skipped,
        "dropped": [asdict(line) for line in blocks.dropped],
    }


def _piece_json(piece: Piece) -> Json:
    """A block as JSON. `hex` and `schemes` are of the body; a loop branch is in `text` only."""
    return {
        "name": piece.name,
        "kind": piece.block.kind,
        **BlockName(piece.block.isa, piece.block.body).as_json(),
        "text": piece.block.text,
        "schemes": [instruction.scheme for instruction in piece.block.instructions],
        "notes": list(piece.notes),
    }
