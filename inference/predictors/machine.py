"""A connected machine as a predictor: it measures each block, see `inference.measuring.blocks`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.agent.protocol import Result
from inference.core.errors import InvalidInputError
from inference.core.protocols import Json
from inference.core.tunables import choice, setting
from inference.isa.blocks import Block, BlockError, block_of_bytes
from inference.isa.start_values import StartValues
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import MODES, BlockOptions, obstacle
from inference.predictors.protocol import Answer, Failure

KIND = "machine"


class BlockMeasurement(Protocol):
    """Measures blocks as (index, result), in any order; see `BlockMeasurer.measure`."""

    def __call__(
        self, blocks: Sequence[Block], *, starts: Sequence[StartValues] = ()
    ) -> Iterator[tuple[int, Result]]:
        """`starts`: the values that each block starts with, if not the usual ones."""
        ...


_FAULTS = {
    "illegal instruction": Failure.UNSUPPORTED,
    "does not end": Failure.TIMEOUT,
    # Memory that is unavailable on this system: the processor has not failed.
    "touches more than": Failure.NO_NUMBER,
    "where this system lets no program have memory": Failure.NO_NUMBER,
    "is of the process that measures": Failure.NO_NUMBER,
}


@dataclass(frozen=True)
class MachineSettings:
    """Which machine measures, and the surroundings of blocks; part of each answer's identity."""

    machine: str = setting("", "name of a connected machine", None)
    mode: str = choice(BlockOptions().mode, MODES, "copies after a fresh start, or a loop that goes on", None)
    copies: int = setting(0, "copies of the block; 0: as usual", None)
    registers: int = setting(BlockOptions().registers, "what general-purpose registers start with", None)
    memory: int = setting(BlockOptions().memory, "what every 8 bytes of memory start with", None)
    pages: int = setting(BlockOptions().pages, "pages of memory that a block may touch", None)

    def __post_init__(self) -> None:
        for name, problem in self.options.problems().items():
            raise InvalidInputError(f"{name} {problem}")

    @property
    def options(self) -> BlockOptions:
        return BlockOptions(self.mode, self.copies, self.registers, self.memory, self.pages)


class MeasuredBlocks:
    """A predictor that measures. `identity` is that of machine, harness and options."""

    def __init__(
        self,
        title: str,
        identity: Json,
        measure: BlockMeasurement,
        settings: MachineSettings,
        done: Callable[[], None] = lambda: None,
        isa: str = DEFAULT,
    ) -> None:
        self._isa = isa
        self._title = title
        self._identity = identity
        self._measure = measure
        self._settings = settings
        self._done = done

    @property
    def name(self) -> str:
        """E.g. `machine lab3 · loop`."""
        return f"machine {self._title} · {self._settings.mode}"

    @property
    def identity(self) -> Json:
        return {"kind": KIND, "measured": self._identity, "options": self._settings.options.as_json()}

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        """See `inference.predictors.protocol.Predictor`.

        A measurement that does not settle is a failure: its cycles would differ the next time.
        """
        return self.predict_from([(code, self._settings.options.start) for code in blocks])

    def predict_from(self, blocks: Sequence[tuple[bytes, StartValues]]) -> list[Answer]:
        """Predicts as `predict` does, with start values that differ from those of the options."""
        answers: dict[int, Answer] = {}
        measurable: list[tuple[int, Block]] = []
        for index, (code, _) in enumerate(blocks):
            try:
                block = block_of_bytes(code, self._isa)
                reason = obstacle(block, self._settings.options, None)
            except BlockError as error:
                reason = error.message
            if reason:
                answers[index] = Answer(failure=Failure.UNSUPPORTED, detail=reason)
            else:
                measurable.append((index, block))
        starts = [blocks[index][1] for index, _ in measurable]
        for number, result in self._measure([block for _, block in measurable], starts=starts):
            answers[measurable[number][0]] = _answer(result)
        return [answers[index] for index in range(len(blocks))]

    def close(self) -> None:
        self._done()


def _answer(result: Result) -> Answer:
    if result.state == "settled":
        return Answer(cycles=result.cycles)
    if result.state == "failed":
        failure = next((fault for words, fault in _FAULTS.items() if words in result.note), Failure.CRASH)
        if "lacks" in result.note or "not know" in result.note:
            failure = Failure.UNSUPPORTED
        return Answer(failure=failure, detail=result.note)
    detail = f"measured {result.cycles:.3f} cycles, but {result.state}" if result.cycles else result.state
    return Answer(failure=Failure.NO_NUMBER, detail=" · ".join(filter(None, (detail, result.note))))
