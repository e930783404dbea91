"""What the search needs from its world: predictors that answer for basic blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from anica_app.core.answers import Answer
from inference.core.protocols import Json


class Predictor(Protocol):
    """Says how many cycles a basic block takes per execution: a tool, a mapping, a machine.

    A basic block is its machine code: one or more x86-64 instructions without control flow.
    """

    @property
    def name(self) -> str:
        """What people call it, e.g. `llvm-mca 19 · haswell`."""
        ...

    @property
    def identity(self) -> Json:
        """Whatever changes its answers: kind, version, options; with a block, the key of an answer."""
        ...

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """One answer per block, in the order asked; blocks are asked in bulk because tools are slow to start.

        A failure for one block is an answer. Raises `PredictorError` where the tool cannot work at all.
        """
        ...

    def close(self) -> None:
        """End what it keeps running. It is not asked afterwards."""
        ...
