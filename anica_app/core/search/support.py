"""Which schemes all tools of a campaign can work with (thesis §8.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inference.predictors.panel import Panel
from inference.predictors.protocol import Answer

_PIECE = 500
"""Blocks that are asked for together: enough for bulk, few enough to tell how it goes."""


@dataclass(frozen=True)
class Support:
    """Which of some schemes are supported: all predictors gave a number other than zero for the block of one.

    `lacking` has for each other scheme which predictors (from 1) do not, with their answers.
    """

    supported: tuple[str, ...]
    lacking: Mapping[str, Mapping[int, Answer]]

    def by_predictor(self, number: int) -> int:
        """How many schemes a predictor does not support."""
        return sum(number in answers for answers in self.lacking.values())


def find_support(
    panel: Panel, blocks: Mapping[str, bytes], told: Callable[[int], None] = lambda done: None
) -> Support:
    """Ask all predictors for the one-instruction blocks of schemes, given by the schemes' texts.

    `told` hears how many have been answered.
    """
    texts = list(blocks)
    pieces = [texts[begin : begin + _PIECE] for begin in range(0, len(texts), _PIECE)]
    asked = [panel.ask([blocks[text] for text in piece]) for piece in pieces]
    lacking: dict[str, Mapping[int, Answer]] = {}
    done = 0
    for piece, answered in zip(pieces, asked, strict=True):
        for text, answers in zip(piece, answered(), strict=True):
            missing = _missing(answers)
            if missing:
                lacking[text] = missing
        done += len(piece)
        told(done)
    return Support(tuple(text for text in texts if text not in lacking), lacking)


def _missing(answers: Sequence[Answer]) -> dict[int, Answer]:
    return {number: answer for number, answer in enumerate(answers, start=1) if not answer.supported}
