"""llvm-mca as a predictor: many blocks per process, several processes side by side (thesis §8.2.1).

A block is a code region of the input and, for a rate, once more with its instructions repeated, so that one
process simulates two lengths. Releases before 19 skip a line that they cannot parse, and stop at an
instruction that their model lacks; later ones are told to skip both. In either case the number of simulated
instructions shows it: a block of which anything was skipped is unsupported, never a number.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from inference.containment import CallOutcome, CannotStartError, Limits, run
from inference.core.protocols import Json
from inference.isa.facets import LlvmSide
from inference.isa.llvm_schemes import llvm_side
from inference.predictors.calling import cpu_count, in_batches
from inference.predictors.llvm.mca_settings import LONGER, RATE, McaSettings
from inference.predictors.llvm.releases import INSTALL, Release, isa_of_processor, list_releases, release_at
from inference.predictors.llvm.text import Text, texts_of
from inference.predictors.protocol import Answer, Failure, PredictorError

KIND = "llvm-mca"

FIRST_SKIPPING_RELEASE = 19
"""That passes over instructions it does not support (`-skip-unsupported-instructions`)."""

_DISASSEMBLY_BATCH = 500  # blocks per call of llvm-mc
_SURROUNDINGS = {"LLVM_DISABLE_SYMBOLIZATION": "1"}
"""A crash does not look up names for its stack, which would take most of the time."""


class LlvmMca:
    """One release, processor and set of flags. Threads may share it.

    Args:
        settings: Which processor and flags, and limits.
        release: Instead of the installed one that the settings choose.
        mc: Another disassembler than the release's own.
        extra: Options in addition to the user's flags.

    Raises:
        PredictorError: Where the release is not installed or does not know the processor; whether it accepts
            the flags shows at the first question.
    """

    def __init__(
        self,
        settings: McaSettings,
        *,
        release: Release | None = None,
        mc: str = "",
        extra: Sequence[str] = (),
    ) -> None:
        self._settings = settings
        self.release = release or release_for(settings)
        self.isa = isa_of_processor(self.release, settings.cpu)
        self._side = llvm_side(self.isa)
        self._mc = mc or self.release.mc
        self._limits = Limits(seconds=settings.seconds, memory=settings.memory)
        self._pool = ThreadPoolExecutor(settings.processes or cpu_count(), thread_name_prefix=KIND)
        self._command = (*_command(self.release, settings, self._side), *extra)
        self._checked = False
        self._checking = threading.Lock()
        self._lacking: set[str] = set()
        self._crashing: set[str] = set()

    @property
    def name(self) -> str:
        """E.g. `llvm-mca 19 · haswell -noalias=false`."""
        words = [f"{KIND} {self.release.number} · {self._settings.cpu}", *self._settings.flags.split()]
        if self._settings.counting != RATE:
            words.append(f"{self._settings.counting} of {self._settings.iterations}")
        return " ".join(words)

    @property
    def identity(self) -> Json:
        settings = self._settings
        return {
            "kind": KIND,
            "version": self.release.banner,
            "cpu": settings.cpu,
            "flags": sorted(settings.flags.split()),
            "counting": settings.counting,
            "iterations": settings.iterations,
            "seconds": settings.seconds,
        }

    def predict(self, blocks: Sequence[bytes]) -> list[Answer]:
        try:
            self._check()
            texts = self._texts(blocks)
            results: list[Answer | None] = [self._known_answer(text) for text in texts]
            for alone in (False, True):
                indices = [
                    k for k, text in enumerate(texts) if results[k] is None and self._is_risky(text) == alone
                ]
                questions = [text for k in indices if not isinstance(text := texts[k], Answer)]
                answers = in_batches(questions, self._ask, 1 if alone else self._settings.batch, self._pool)
                for k, answer in zip(indices, answers, strict=True):
                    results[k] = answer
        except CannotStartError as error:
            raise PredictorError(f"{error}; install it: {INSTALL}") from error
        return [answer for answer in results if answer is not None]

    def close(self) -> None:
        """End the threads; no process is kept running between questions."""
        self._pool.shutdown(cancel_futures=True)

    def _known_answer(self, text: Text | Answer) -> Answer | None:
        """The answer that needs no process, None otherwise."""
        if isinstance(text, Answer):
            return text
        reason = lacking_reason(text, self._lacking) if self._lacking else ""
        return Answer(failure=Failure.UNSUPPORTED, detail=reason) if reason else None

    def _is_risky(self, text: Text | Answer) -> bool:
        """Whether it has an instruction that crashes this release by itself: such blocks are asked alone."""
        return bool(self._crashing) and not isinstance(text, Answer) and not self._crashing.isdisjoint(text)

    def _texts(self, blocks: Sequence[bytes]) -> list[Text | Answer]:
        parts = [blocks[k : k + _DISASSEMBLY_BATCH] for k in range(0, len(blocks), _DISASSEMBLY_BATCH)]
        texts = self._pool.map(lambda part: texts_of(self._mc, part, self._limits, self._side), parts)
        return [text for part in texts for text in part]

    def _ask(self, texts: Sequence[Text]) -> tuple[Sequence[Answer | None], Answer]:
        question = McaBatch.of(texts, self._settings)
        ended = self._run(f"-iterations={question.iterations}", question.stdin)
        reply = read_reply(question, texts, self._settings, ended.stdout, ended.stderr)
        self._lacking |= reply.lacking
        failed = _failure(ended)
        if failed.failure == Failure.CRASH and len(texts) == 1 and reply.answers[0] is None:
            self._find_crashing_lines(texts[0])
        return reply.answers, failed

    def _run(self, iterations: str, stdin: bytes) -> CallOutcome:
        return run([*self._command, iterations], stdin, limits=self._limits, environment=_SURROUNDINGS)

    def _find_crashing_lines(self, text: Text) -> None:
        """Find the instructions of a crashing block that crash by themselves."""
        for line in dict.fromkeys(text):
            if len(text) > 1:
                question = McaBatch.of([(line,)], self._settings)
                ended = self._run(f"-iterations={question.iterations}", question.stdin)
                if _failure(ended).failure != Failure.CRASH:
                    continue
            self._crashing.add(line)

    def _check(self) -> None:
        """Raise `PredictorError` unless it simulates an instruction for this processor with these flags."""
        with self._checking:
            if self._checked:
                return
            if not self._mc:
                raise PredictorError(
                    f"beside {self.release.mca} there is no llvm-mc, which turns machine code into assembly: "
                    f"{INSTALL}"
                )
            tried = self._run("-iterations=1", f"{self._side.probe}\n".encode())
            if tried.status != 0 or b"Total Cycles:" not in tried.stdout:
                raise PredictorError(
                    f"llvm-mca {self.release.version} does not work with -mcpu={self._settings.cpu} "
                    f"{self._settings.flags}".rstrip()
                    + f": {tried.last_error_line}"
                )
            self._checked = True


def _command(release: Release, settings: McaSettings, side: LlvmSide) -> list[str]:
    command = [release.mca, f"-mtriple={side.triple}", f"-mcpu={settings.cpu}"]
    command += ["-instruction-info=0", "-resource-pressure=0"]
    if int(release.number) >= FIRST_SKIPPING_RELEASE:
        command.append("-skip-unsupported-instructions=any")
    return [*command, *settings.flags.split()]


def isa_of(settings: McaSettings) -> str:
    """The instruction set of the simulated processor. Raises `PredictorError` as `LlvmMca` does."""
    return isa_of_processor(release_for(settings), settings.cpu)


def release_for(settings: McaSettings) -> Release:
    """The installed release that the settings choose. Raises `PredictorError` where there is none."""
    if settings.program:
        return release_at(settings.program)
    available = list_releases()
    matching = [release for release in available if settings.release in ("", release.number)]
    if matching:
        return matching[-1]
    numbers = ", ".join(release.number for release in available) or "none at all"
    raise PredictorError(
        f"llvm-mca {settings.release} is not installed here; there is {numbers}: {INSTALL}".replace("  ", " ")
    )


def _failure(ended: CallOutcome) -> Answer:
    """The answer for a block without one, by how the process ended."""
    if ended.timed_out:
        return Answer(failure=Failure.TIMEOUT, detail=ended.ending)
    if ended.output_exceeded:
        return Answer(failure=Failure.NO_NUMBER, detail=ended.ending)
    if ended.status != 0:
        return Answer(failure=Failure.CRASH, detail=ended.ending)
    return Answer(failure=Failure.NO_NUMBER, detail="no cycles in its output")


_REGION = re.compile(
    rb"^\[\d+\] Code Region - (\d+)([ab])\s+Iterations: +(\d+)\s+Instructions: +(\d+)\s+Total Cycles: +(\d+)",
    re.MULTILINE,
)
_PARSE_ERROR = re.compile(rb"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)
"""Line and message of the assembler."""

_LACKING = re.compile(rb"^(?>.*?found an unsupported instruction).*\nnote: instruction: ?(.*)", re.MULTILINE)
"""Text of an instruction that the processor's model lacks."""

_SHORT, _LONG = b"a", b"b"


@dataclass(frozen=True)
class McaBatch:
    """A batch as llvm-mca's input: `iterations` of each region; `owners` has the block of each line."""

    iterations: int
    stdin: bytes
    owners: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[Text], settings: McaSettings) -> McaBatch:
        is_rate = settings.counting == RATE
        lines: list[str] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            for suffix, repeats in (("a", 1), ("b", LONGER)) if is_rate else (("a", 1),):
                region = (f"# LLVM-MCA-BEGIN {number}{suffix}", *text * repeats, "# LLVM-MCA-END")
                lines += region
                owners += [number] * len(region)
        iterations = settings.iterations // LONGER if is_rate else settings.iterations
        return cls(iterations, ("\n".join(lines) + "\n").encode(), tuple(owners))


@dataclass(frozen=True)
class Reply:
    """`answers`: per block, None where it has none. `lacking`: instructions that the model lacks."""

    answers: tuple[Answer | None, ...]
    lacking: frozenset[str]


def read_reply(
    question: McaBatch, texts: Sequence[Text], settings: McaSettings, output: bytes, complaints: bytes
) -> Reply:
    """llvm-mca's answers, however it ended."""
    cycles: dict[tuple[int, bytes], int] = {}
    short: set[int] = set()
    for name, suffix, iterations, instructions, total in _REGION.findall(output):
        number = int(name)
        repeats = LONGER if suffix == _LONG else 1
        if int(instructions) == len(texts[number]) * repeats * int(iterations):
            cycles[number, suffix] = int(total)
        else:
            short.add(number)
    refused = _parse_errors(question, complaints)
    lacking = frozenset(normalised(text.decode(errors="replace")) for text in _LACKING.findall(complaints))
    answers: list[Answer | None] = []
    for number, text in enumerate(texts):
        if reason := refused.get(number) or lacking_reason(text, lacking):
            answers.append(Answer(failure=Failure.UNSUPPORTED, detail=reason))
        elif number in short:
            detail = "it left out an instruction without naming it"
            answers.append(Answer(failure=Failure.UNSUPPORTED, detail=detail))
        else:
            answers.append(_answer(cycles, number, settings))
    return Reply(tuple(answers), lacking)


def lacking_reason(text: Text, lacking: Collection[str]) -> str:
    """The reason for a block with an instruction that the model lacks, "" for any other."""
    lacking_line = next((line for line in map(normalised, text) if line in lacking), "")
    return f"its model of this processor lacks: {lacking_line}" if lacking_line else ""


def normalised(instruction: str) -> str:
    """The instruction with single blanks, as both messages and listings can be compared."""
    return " ".join(instruction.split())


def _parse_errors(question: McaBatch, complaints: bytes) -> dict[int, str]:
    """{block: why a line of it cannot be parsed}."""
    reasons: dict[int, str] = {}
    for line, reason in _PARSE_ERROR.findall(complaints):
        if 1 <= int(line) <= len(question.owners):
            reasons.setdefault(question.owners[int(line) - 1], reason.decode(errors="replace"))
    return reasons


def _answer(cycles: dict[tuple[int, bytes], int], number: int, settings: McaSettings) -> Answer | None:
    """Cycles per iteration from the reports of two lengths, or of one, by the setting `counting`."""
    first = cycles.get((number, _SHORT))
    if settings.counting != RATE:
        return None if first is None else Answer(cycles=first / settings.iterations)
    second = cycles.get((number, _LONG))
    if first is None or second is None:
        return None
    if second < first:
        return Answer(
            failure=Failure.NO_NUMBER, detail=f"{second} cycles for {LONGER} times what takes {first}"
        )
    short = settings.iterations // LONGER
    return Answer(cycles=(second - first) / (settings.iterations - short))
