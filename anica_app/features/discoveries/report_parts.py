"""What a maintainer looks for in a report: a title with the numbers, a test, a snippet, known issues."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from anica_app.features.discoveries.tool_commands import LLVM_MCA, OSACA, UICA, tool_and_core
from inference.core.texts import one_line
from inference.features.asking.predictors.kinds import kind_of
from inference.features.asking.predictors.modes import titled
from inference.formats.exegesis import write_block_exegesis
from inference.isa.blocks import block_of_bytes, schemes_of_bytes
from inference.isa.blocks.accesses import reads_of
from inference.isa.blocks.listing import att_of_bytes, intel_or_digits
from inference.isa.start_values import StartValues
from inference.measuring.blocks import BlockOptions
from inference.models import Predictor
from inference.predictors import machine, nanobench
from inference.predictors.protocol import Answer

Said = tuple[Predictor, Answer]
"""A predictor, and what it says of the block."""

MEASURING = (machine.KIND, nanobench.KIND)
"""Kinds of predictors that measure instead of predicting."""

_MEASURED_NAMES = ("nanobench",)
_TITLES = {LLVM_MCA: "llvm-mca", OSACA: "OSACA", UICA: "uiCA"}
_TRACKERS = {
    LLVM_MCA: "https://github.com/llvm/llvm-project/issues",
    OSACA: "https://github.com/RRZE-HPC/OSACA/issues",
    UICA: "https://github.com/andreas-abel/uiCA/issues",
}
_ENCODING = re.compile(r"\{(vex[23]?|evex|load|store|disp\d+)\}")
"""How an assembler is told which encoding of an instruction is meant."""
_MOST_INSTRUCTIONS = 3
_MOST_MNEMONICS = 3
_KINDS = tuple(
    (letter, re.compile(pattern))
    for letter, pattern in (
        ("m", r"[^\[]*\[.*"),
        ("i", r"-?(0x[0-9a-fA-F]+|[0-9][0-9a-fA-F]*h?)"),
        ("x", r"xmm\d+"),
        ("y", r"ymm\d+"),
        ("z", r"zmm\d+"),
        ("k", r"k\d"),
        ("mm", r"mm\d"),
        ("st", r"st.*"),
    )
)
"""Operands in short; everything else is a register, `r`."""


@dataclass(frozen=True)
class IssueSearch:
    """A search of a tool's issue tracker."""

    title: str
    url: str


def measures(row: Predictor) -> bool:
    """Whether it measures, as far as kind and name tell."""
    return row.sort in MEASURING or row.name.lower().startswith(_MEASURED_NAMES)


def short_form(code: bytes) -> str:
    """The instructions with the kinds of their operands, such as `bsf r, m`."""
    lines = intel_or_digits(code)
    shown = [_short(line) for line in lines[:_MOST_INSTRUCTIONS]]
    return "; ".join([*shown, "…"] if len(lines) > _MOST_INSTRUCTIONS else shown)


def _short(line: str) -> str:
    *prefixes, mnemonic, operands = _split(line)
    kinds = [_kind(one.strip()) for one in operands.split(",")] if operands else []
    return " ".join([*prefixes, mnemonic, ", ".join(kinds)]).strip()


def _split(line: str) -> list[str]:
    """Prefixes, the mnemonic and the text of the operands, "" without any; no choice of an encoding."""
    words = [word for word in line.split(" ") if word != "rex.w" and not _ENCODING.fullmatch(word)]
    at = 0
    while words[at] in ("lock", "rep", "repe", "repne") and at + 1 < len(words):
        at += 1
    return [*words[: at + 1], " ".join(words[at + 1 :])]


def _kind(operand: str) -> str:
    plain = re.sub(r"\{.*", "", operand).strip()
    return next((letter for letter, pattern in _KINDS if pattern.fullmatch(plain)), "r")


def mnemonics(code: bytes) -> list[str]:
    """Of the instructions, in order, each once."""
    return list(dict.fromkeys(_split(line)[-2] for line in intel_or_digits(code)))


def title_of(code: bytes, own: Sequence[Said], others: Sequence[Said] = ()) -> str:
    """`llvm-mca 22 predicts 8 cycles for `bsf r, m` on haswell (14: 1)`.

    `own`: what the tools say that disagree; `others` may have measured the block.
    """
    if not own:
        return f"`{short_form(code)}`"
    measured = measurement_among([*own, *others])
    row, answer = blamed(own, measured)
    beside = [_beside(row, each, said) for each, said in own if each is not row and not measures(each)]
    if measured is not None:
        beside.append(f"measured: {_number(measured[1])}")
    known = tool_and_core(row)
    what = _what(answer)
    where = f" on {known[2]}" if known is not None and known[2] else ""
    notes = f" ({'; '.join(beside)})" if beside else ""
    return f"{_called(row)} {what} `{short_form(code)}`{where}{notes}"


def _what(answer: Answer) -> str:
    if answer.cycles is None:
        return "crashes on" if answer.failure == "crash" else f"fails ({answer.failure}) on"
    return f"predicts {_number(answer)} cycle{'' if answer.cycles == 1 else 's'} for"


def measurement_among(said: Sequence[Said]) -> Said | None:
    """The first measurement of a block; None without any."""
    return next(((row, answer) for row, answer in said if measures(row) and answer.cycles), None)


def blamed(own: Sequence[Said], measured: Said | None) -> Said:
    """Whom a report is about: who fails, else is furthest from what was measured.

    Without a measurement the later of two releases, else the tool that says more cycles.
    """
    tools = [one for one in own if not measures(one[0])] or list(own)
    failing = [one for one in tools if one[1].cycles is None]
    if failing:
        return failing[0]
    if measured is not None and measured[1].cycles:
        truth = measured[1].cycles
        return max(tools, key=lambda one: abs((one[1].cycles or 0.0) - truth))
    known = [tool_and_core(row) for row, _ in tools]
    if len({one and one[0] for one in known}) == 1 and all(one and one[1].isdecimal() for one in known):
        releases = [int(one[1]) for one in known if one is not None]
        if len(set(releases)) > 1:
            return tools[releases.index(max(releases))]
    return max(tools, key=lambda one: one[1].cycles or 0.0)


def _beside(about: Predictor, row: Predictor, answer: Answer) -> str:
    one, other = tool_and_core(about), tool_and_core(row)
    same = one is not None and other is not None and (one[0], one[2]) == (other[0], other[2]) and other[1]
    name = other[1] if same and other is not None else _called(row)
    return f"{name}: {_number(answer)}"


def _called(row: Predictor) -> str:
    known = tool_and_core(row)
    if known is None:
        return one_line(titled(row))
    return " ".join(filter(None, (_TITLES.get(known[0], known[0]), known[1])))


def _number(answer: Answer) -> str:
    return str(answer.failure) if answer.cycles is None else f"{answer.cycles:.2f}".rstrip("0").rstrip(".")


def issue_searches(code: bytes, predictors: Sequence[Predictor]) -> list[IssueSearch]:
    """Where the trackers of the tools may know of it: each tool once, by its name and the mnemonics."""
    found = {}
    for row in predictors:
        known = tool_and_core(row)
        if known is None or known[0] not in _TRACKERS or known[0] in found:
            continue
        about = mnemonics(code)[:_MOST_MNEMONICS]
        words = ["is:issue", *([LLVM_MCA] if known[0] == LLVM_MCA else []), *about]
        url = f"{_TRACKERS[known[0]]}?{urlencode({'q': ' '.join(words)})}"
        found[known[0]] = IssueSearch(f"{_TITLES[known[0]]}: {' '.join(about)}", url)
    return list(found.values())


def mca_test(code: bytes, core: str) -> str:
    """A test file for llvm/test/tools/llvm-mca/X86, of which update_mca_test_checks.py fills in the checks.

    Raises `BlockError` for code that is no block.
    """
    lines = [
        "# NOTE: Add the checks with utils/update_mca_test_checks.py",
        f"# RUN: llvm-mca -mtriple=x86_64-unknown-unknown -mcpu={core} -iterations=100 < %s | FileCheck %s",
        "",
        *att_of_bytes(code),
    ]
    return "\n".join(lines) + "\n"


def measured_from(row: Predictor) -> StartValues | None:
    """What blocks start with on a machine of this site; None for what does not measure with known values."""
    if row.kind != machine.KIND or not row.askable:
        return None
    return kind_of(row.kind).settings_of(row.options).options.start  # type: ignore[no-any-return]


def operand_values_text(row: Predictor, code: bytes) -> str:
    """`rax = 0x62345600, cl = 0`: what the block read where a machine of this site measured it, else ""."""
    start = measured_from(row)
    if start is None:
        return ""
    reads = reads_of(block_of_bytes(code))
    return ", ".join(f"{name} = {value}" for name, value in reads.values(start).items())


def exegesis_snippet(code: bytes, said: Sequence[Said]) -> str:
    """A snippet by which llvm-exegesis measures the block, with the values that a machine measured it with.

    Raises `BlockError`.
    """
    schemes = [text for text in schemes_of_bytes(code) if text is not None]
    lines = [
        f"{titled(row)} {'measured' if measures(row) else 'predicts'} {_number(answer)} cycles"
        for row, answer in said
        if answer.cycles is not None
    ]
    starts = (measured_from(row) for row, answer in said if answer.cycles is not None)
    start = next((start for start in starts if start is not None), BlockOptions().start)
    return write_block_exegesis(code, schemes, lines, start)
