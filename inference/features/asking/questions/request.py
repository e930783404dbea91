"""The description of a run of kind `ask`: predictors and blocks."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from inference.features.asking.predictors.modes import AS_NAMED, QuestionMode
from inference.features.asking.predictors.query import MAX_PREDICTORS
from inference.isa.targets import DEFAULT
from inference.runs.request import RunRequest

MAX_BLOCKS = 1000
"""Blocks of one run; all its answers are stored in its journal."""


class AskConfig(RunRequest):
    """`predictors` are ids, `blocks` machine code of the instruction set `isa` in hexadecimal digits.

    With `anew`, cached answers are ignored. `about`: what the blocks belong to, for the page that asks.
    `mode`: the mode of all answers; "" as each predictor's options say.
    """

    noun = "a question"
    predictors: Annotated[list[int], Field(min_length=1, max_length=MAX_PREDICTORS)]
    isa: str = DEFAULT
    blocks: Annotated[list[str], Field(min_length=1, max_length=MAX_BLOCKS)]
    anew: bool = False
    about: dict[str, JsonValue] = {}
    mode: QuestionMode = AS_NAMED
