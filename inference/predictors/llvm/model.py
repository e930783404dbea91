"""LLVM's scheduling model of instructions, by `llvm-mca -json`: looked up, not simulated.

The simulation of `mca` predicts blocks with their dependencies. This is the model behind it: how many µops
LLVM gives an instruction, which resources they use for how long, and how often the instruction could be
executed if nothing else mattered.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from inference.containment import CannotStartError, Limits, run
from inference.isa.llvm_schemes import llvm_side
from inference.predictors.calling import cpu_count, in_batches
from inference.predictors.llvm.releases import INSTALL, Release, isa_of_processor
from inference.predictors.llvm.text import Text, texts_of
from inference.predictors.protocol import Answer, PredictorError

BLOCKS_PER_PROCESS = 100
_ITERATIONS = 100
"""Enough for the simulation to spread µops over the ports of a group evenly to two digits."""
_FIRST_SKIPPING_RELEASE = 19
_UNIT_NUMBER = re.compile(r"[\x00-\x1f]")
"""Of a resource with several units, llvm-mca's JSON has a unit's number as a character of that code."""


@dataclass(frozen=True)
class ModelAnswer:
    """The model's figures for a block.

    `uops` of one execution.

    Attributes:
        cycles: Inverse throughput by resources and dispatch alone.
        pressure: (resource, its cycles per execution), of used resources.
        text: The instructions in the syntax of GNU assemblers.
        latency: Latency of the slowest instruction, in cycles.
        failure: Why there is no answer; all other fields are empty then.
    """

    cycles: float = 0.0
    uops: float = 0.0
    pressure: tuple[tuple[str, float], ...] = ()
    text: Text = ()
    failure: str = ""
    latency: float = 0.0


class LlvmModel:
    """The model of one processor in one release.

    Raises:
        PredictorError: For a processor that the release does not know, or a release without llvm-mc.
    """

    def __init__(self, release: Release, cpu: str, limits: Limits | None = None) -> None:
        self.release = release
        self.cpu = cpu
        self._limits = limits or Limits(seconds=60.0)
        self._side = llvm_side(isa_of_processor(release, cpu))
        if not release.mc:
            raise PredictorError(
                f"beside {release.mca} there is no llvm-mc, which turns code into text: {INSTALL}"
            )

    @property
    def name(self) -> str:
        return f"llvm-mca {self.release.version}, -mcpu={self.cpu}"

    def command(self, text: Text) -> str:
        """A shell command that gives the same answer."""
        quoted = shlex.quote("\n".join(text))
        program = f"llvm-mca-{self.release.number} -mtriple={self._side.triple} -mcpu={self.cpu} -json"
        return f"printf '%s\\n' {quoted} | {program}"

    def ask(self, blocks: Sequence[bytes], pulse: Callable[[], None] = lambda: None) -> list[ModelAnswer]:
        """One answer per block of machine code, in order; `pulse` is called after every few batches."""
        answers: list[ModelAnswer] = []
        with ThreadPoolExecutor(cpu_count()) as pool:
            step = BLOCKS_PER_PROCESS * cpu_count()
            for begin in range(0, len(blocks), step):
                answers += self._chunk_answers(blocks[begin : begin + step], pool)
                pulse()
        return answers

    def _chunk_answers(self, blocks: Sequence[bytes], pool: ThreadPoolExecutor) -> list[ModelAnswer]:
        try:
            texts = texts_of(self.release.mc, blocks, self._limits, self._side)
            decoded = [text for text in texts if not isinstance(text, Answer)]
            answers = iter(in_batches(decoded, self._batch, BLOCKS_PER_PROCESS, pool))
        except CannotStartError as error:
            raise PredictorError(f"{error}; install it: {INSTALL}") from error
        return [
            ModelAnswer(failure=text.detail) if isinstance(text, Answer) else next(answers) for text in texts
        ]

    def _batch(self, texts: Sequence[Text]) -> tuple[list[ModelAnswer | None], ModelAnswer]:
        command = [self.release.mca, f"-mtriple={self._side.triple}", f"-mcpu={self.cpu}", "-json"]
        command.append(f"-iterations={_ITERATIONS}")
        if int(self.release.number) >= _FIRST_SKIPPING_RELEASE:
            command.append("-skip-unsupported-instructions=any")
        regions = (
            line
            for number, text in enumerate(texts)
            for line in (f"# LLVM-MCA-BEGIN {number}", *text, "# LLVM-MCA-END")
        )
        ended = run(command, ("\n".join(regions) + "\n").encode(), limits=self._limits)
        fallback = ModelAnswer(failure=ended.last_error_line)
        try:
            reply = json.loads(ended.stdout) if ended.status == 0 else {}
        except ValueError:
            reply = {}
        return _read(reply, texts, self._side.comment), fallback


def _read(reply: Any, texts: Sequence[Text], comment: str) -> list[ModelAnswer | None]:
    """The answers by the names of the regions; None for a region that is missing or lacks an instruction."""
    names = reply.get("TargetInfo", {}).get("Resources", [])
    regions = {region.get("Name"): region for region in reply.get("CodeRegions", [])}
    return [_answer_of(regions.get(str(number)), names, text, comment) for number, text in enumerate(texts)]


def _answer_of(region: Any, names: Sequence[str], text: Text, comment: str) -> ModelAnswer | None:
    if region is None or len(region.get("Instructions", ())) != len(text):
        return None
    summary = region["SummaryView"]
    pressure = [
        (_UNIT_NUMBER.sub(lambda unit: str(ord(unit[0])), names[row["ResourceIndex"]]), row["ResourceUsage"])
        for row in region["ResourcePressureView"]["ResourcePressureInfo"]
        if row["InstructionIndex"] == len(text)
    ]
    return ModelAnswer(
        cycles=summary["BlockRThroughput"],
        uops=summary["TotaluOps"] / summary["Iterations"],
        pressure=tuple(pressure),
        text=tuple(_plain(line, comment) for line in text),
        latency=max(row["Latency"] for row in region["InstructionInfoView"]["InstructionList"]),
    )


def _plain(line: str, comment: str) -> str:
    """An instruction with single blanks and without the comment that the disassembler adds to some."""
    return " ".join(line.partition(comment)[0].split())
