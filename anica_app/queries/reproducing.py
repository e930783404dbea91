"""Everything to see a disagreement elsewhere: a block with its answers, a bug report, a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anica_app.core.answers import Answer
from anica_app.exchange import compiler_explorer
from anica_app.exchange.bug_report import Report, markdown
from anica_app.exchange.commands import Command, commands_for, core_of
from anica_app.models import Predictor
from anica_app.queries.discoveries import Example, Found, known_answers
from anica_app.queries.saying import words_of
from inference.core.protocols import Json
from inference.isa.x86.blocks import block_of_hex

MOST_OTHERS = 5


@dataclass(frozen=True)
class Chosen:
    """The block at hand, with what is known of it. `digits` are "" where it is the usual one."""

    code: bytes
    digits: str
    answers: Sequence[tuple[Predictor, Answer]]
    examples: Sequence[Example]


def chosen_block(found: Found, digits: str = "") -> Chosen | None:
    """The block of these digits, else the smallest witness; None where a discovery came without one.

    Raises `BlockError` for digits of no block.
    """
    examples = found.examples()
    if digits:
        code = block_of_hex(digits).code
        example = next((one for one in examples if one.sample.code == code), None)
    else:
        example = found.smallest(examples)
        code = bytes(found.discovery.code) if example is None else example.sample.code
    if not code:
        return None
    answers = [] if example is None else list(zip(found.predictors, example.sample.answers, strict=True))
    but = found.predictors if answers else []
    return Chosen(code, digits, [*answers, *known_answers(code, but)], examples)


def commands_of(found: Found, chosen: Chosen) -> list[Command]:
    """How each of the campaign's tools, and the usual ones, are asked about the block in a shell."""
    return commands_for(found.predictors, chosen.code)


def report_of(found: Found, chosen: Chosen, address: str) -> str:
    """The bug report in Markdown; `address` is where people find the discovery."""
    others = [one for one in chosen.examples if one.interesting and one.sample.code != chosen.code]
    interesting = sum(one.interesting is not False for one in chosen.examples)
    return markdown(
        Report(
            found.discovery,
            chosen.code,
            chosen.answers,
            commands_of(found, chosen),
            words_of(found.discovery.abstract),
            (len(chosen.examples), interesting),
            [(one.sample.code, one.sample.answers) for one in others[:MOST_OTHERS]],
            address,
        )
    )


def session_of(found: Found, chosen: Chosen) -> Json:
    """The state of a Compiler Explorer session with the block and what was said of it."""
    comment = f"{found.campaign.name}, {found.discovery}"
    said = [
        f"{row.name}: {answer.failure or f'{answer.cycles:.2f} cycles'}" for row, answer in chosen.answers
    ]
    return compiler_explorer.state(chosen.code, core_of(found.predictors), "\n".join([comment, *said]))
