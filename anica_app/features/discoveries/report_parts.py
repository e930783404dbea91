"""Parts of a bug report for maintainers: a title with numbers, a test, a snippet, searches for existing
issues.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from anica_app.features.discoveries.tool_commands import LLVM_MCA, OSACA, UICA, tool_and_core
from inference.core.texts import as_single_line
from inference.features.asking.predictors.kinds import kind_of
from inference.features.asking.predictors.modes import name_with_mode
from inference.formats.exegesis import write_block_exegesis
from inference.isa.blocks import att_of_bytes, block_of_bytes, intel_or_digits, reads_of, schemes_of_bytes
from inference.isa.llvm_schemes import llvm_side
from inference.isa.start_values import StartValues
from inference.isa.targets import DEFAULT, target_of
from inference.measuring.blocks import BlockOptions
from inference.models import Predictor
from inference.predictors import machine, nanobench
from inference.predictors.protocol import Answer

ToolAnswer = tuple[Predictor, Answer]
"""A predictor, and its answer for the block."""

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
"""Choices of an instruction's encoding in assembly."""
_MAX_INSTRUCTIONS = 3
_MAX_MNEMONICS = 3
_KINDS = tuple(
    (letter, re.compile(pattern))
    for letter, pattern in (
        ("m8", r"byte ptr.*"),
        ("m16", r"word ptr.*"),
        ("m32", r"dword ptr.*"),
        ("m64", r"qword ptr.*"),
        ("m128", r"xmmword ptr.*"),
        ("m256", r"ymmword ptr.*"),
        ("m512", r"zmmword ptr.*"),
        ("m", r"[^\[]*\[.*"),
        ("imm", r"-?(0x[0-9a-fA-F]+|[0-9][0-9a-fA-F]*h?)"),
        ("xmm", r"xmm\d+"),
        ("ymm", r"ymm\d+"),
        ("zmm", r"zmm\d+"),
        ("k", r"k\d"),
        ("mm", r"mm\d"),
        ("st", r"st.*"),
        ("cl", r"cl"),
        ("r64", r"r([a-ds][xip]|[sdb][ip]|\d+)"),
        ("r32", r"e([a-d]x|[sdb][ip])|r\d+d"),
        ("r16", r"[a-d]x|[sdb][ip]|r\d+w"),
        ("r8", r"[a-d][lh]|[sdb][ip]l|r\d+b"),
    )
)
"""Operands as manuals abbreviate them; everything else is a register, `r`."""


@dataclass(frozen=True)
class IssueSearch:
    title: str
    url: str


def measures(row: Predictor) -> bool:
    """Whether it measures, judged by kind and name."""
    return row.sort in MEASURING or row.name.lower().startswith(_MEASURED_NAMES)


@dataclass(frozen=True)
class NumberBar:
    """The cycles of a predictor for a block; `width`: in per cent of the largest."""

    name: str
    answer: Answer
    is_measured: bool
    width: float


def number_bars(answers: Sequence[ToolAnswer]) -> list[NumberBar]:
    """The answers as bars, in their order."""
    longest = max((answer.cycles or 0.0 for _, answer in answers), default=0.0)
    return [
        NumberBar(
            name_with_mode(row),
            answer,
            measures(row),
            100 * (answer.cycles or 0.0) / longest if longest else 0.0,
        )
        for row, answer in answers
    ]


def short_form(code: bytes, isa: str = DEFAULT) -> str:
    """The instructions with operands abbreviated by kind and width, such as `bsf r32, m32`."""
    lines = intel_or_digits(code, isa)
    forms = [_short(line) if isa == DEFAULT else line for line in lines[:_MAX_INSTRUCTIONS]]
    return "; ".join([*forms, "…"] if len(lines) > _MAX_INSTRUCTIONS else forms)


def _short(line: str) -> str:
    line = line.rpartition("# ")[2]  # behind the bytes of an encoding that assemblers do not choose
    *prefixes, mnemonic, operands = _split(line)
    kinds = [_kind(operand.strip()) for operand in operands.split(",")] if operands else []
    return " ".join([*prefixes, mnemonic, ", ".join(kinds)]).strip()


def _split(line: str) -> list[str]:
    """Prefixes, the mnemonic and the text of the operands, "" without any; choices of an encoding are
    dropped.
    """
    words = [word for word in line.split(" ") if word != "rex.w" and not _ENCODING.fullmatch(word)]
    at = 0
    while words[at] in ("lock", "rep", "repe", "repne") and at + 1 < len(words):
        at += 1
    return [*words[: at + 1], " ".join(words[at + 1 :])]


def _kind(operand: str) -> str:
    plain = re.sub(r"\{.*", "", operand).strip()
    return next((letter for letter, pattern in _KINDS if pattern.fullmatch(plain)), "r")


def mnemonics(code: bytes, isa: str = DEFAULT) -> list[str]:
    """The mnemonics of the instructions, in order, without repetitions."""
    return list(dict.fromkeys(_split(line)[-2] for line in intel_or_digits(code, isa)))


def title_of(
    code: bytes,
    tool_answers: Sequence[ToolAnswer],
    other_answers: Sequence[ToolAnswer] = (),
    isa: str = DEFAULT,
) -> str:
    """`llvm-mca 22 predicts 8 cycles for `bsf r32, m32` on haswell (14: 1)`.

    Args:
        code: The block.
        tool_answers: Answers of the tools that disagree.
        other_answers: Further answers, among which a measurement is looked for.
        isa: Name of the instruction set.
    """
    if not tool_answers:
        return f"`{short_form(code, isa)}`"
    measured = measurement_among([*tool_answers, *other_answers])
    row, answer = report_subject(tool_answers, measured)
    rivals = [(tool, reply) for tool, reply in tool_answers if tool is not row and not measures(tool)]
    comparisons = [_comparison_note(row, *rival) for rival in rivals]
    if measured is not None:
        comparisons.append(f"measured: {_number(measured[1])}")
    tool = tool_and_core(row)
    verb_phrase = _verb(answer)
    core_phrase = f" on {tool[2]}" if tool is not None and tool[2] else ""
    notes = f" ({'; '.join(comparisons)})" if comparisons else ""
    return f"{_tool_name(row)} {verb_phrase} `{short_form(code, isa)}`{core_phrase}{notes}"


def finding_sentence(
    code: bytes,
    tool_answers: Sequence[ToolAnswer],
    other_answers: Sequence[ToolAnswer] = (),
    isa: str = DEFAULT,
) -> str:
    """``llvm-mca 22 predicts 8 cycles for `bsf r32, m32`, llvm-mca 14 predicts 1 cycle``.

    The tool that the report is about comes first, measurements last; "" without answers.
    """
    if not tool_answers:
        return ""
    answers = [*tool_answers, *other_answers]
    subject, answer = report_subject(tool_answers, measurement_among(answers))
    predicted = [(row, reply) for row, reply in tool_answers if row is not subject and not measures(row)]
    names = [_tool_name(row) for row in (subject, *(row for row, _ in predicted))]
    has_same_names = len({*names}) < len(names)
    start = f"{_name_of(subject, has_same_names)} {_verb(answer)} `{short_form(code, isa)}`"
    rivals = [
        f"{_name_of(row, has_same_names)} {_verb(reply).removesuffix(' for').removesuffix(' on')}"
        for row, reply in predicted
    ]
    measured = [
        f"{name_with_mode(row)} measured {_number(reply)}"
        for row, reply in answers
        if row is not subject and measures(row) and reply.cycles is not None
    ]
    return "; ".join([", ".join([start, *rivals]), *measured[:1]])


def _verb(answer: Answer) -> str:
    if answer.cycles is None:
        return "crashes on" if answer.failure == "crash" else f"fails ({answer.failure}) on"
    return f"predicts {_number(answer)} cycle{'' if answer.cycles == 1 else 's'} for"


def measurement_among(answers: Sequence[ToolAnswer]) -> ToolAnswer | None:
    """The first measurement of the block; None without one."""
    return next(((row, answer_) for row, answer_ in answers if measures(row) and answer_.cycles), None)


def report_subject(tool_answers: Sequence[ToolAnswer], measured: ToolAnswer | None) -> ToolAnswer:
    """The tool that the report is about: a failing one, else the one farthest from the measurement.

    Without a measurement, the later of two releases of one tool, else the tool with more cycles.
    """
    candidates = [candidate for candidate in tool_answers if not measures(candidate[0])] or list(tool_answers)
    failing = [candidate for candidate in candidates if candidate[1].cycles is None]
    if failing:
        return failing[0]
    if measured is not None and measured[1].cycles:
        truth = measured[1].cycles
        return max(candidates, key=lambda candidate: abs((candidate[1].cycles or 0.0) - truth))
    tools = [tool_and_core(row) for row, _ in candidates]
    if len({tool and tool[0] for tool in tools}) == 1 and all(tool and tool[1].isdecimal() for tool in tools):
        releases = [int(tool[1]) for tool in tools if tool is not None]
        if len(set(releases)) > 1:
            return candidates[releases.index(max(releases))]
    return max(candidates, key=lambda candidate: candidate[1].cycles or 0.0)


def _comparison_note(subject: Predictor, row: Predictor, answer: Answer) -> str:
    first, tool = tool_and_core(subject), tool_and_core(row)
    is_same_core = first is not None and tool is not None and (first[0], first[2]) == (tool[0], tool[2])
    name = tool[1] if is_same_core and tool is not None and tool[1] else _tool_name(row)
    if first is not None and tool is not None and first[:2] == tool[:2] and first[2] != tool[2]:
        name = f"{name} on {tool[2]}"
    return f"{name}: {_number(answer)}"


def _name_of(row: Predictor, with_core: bool) -> str:
    tool = tool_and_core(row) if with_core else None
    return f"{_tool_name(row)} on {tool[2]}" if tool is not None and tool[2] else _tool_name(row)


def _tool_name(row: Predictor) -> str:
    tool = tool_and_core(row)
    if tool is None:
        return as_single_line(name_with_mode(row))
    return " ".join(filter(None, (_TITLES.get(tool[0], tool[0]), tool[1])))


def _number(answer: Answer) -> str:
    return str(answer.failure) if answer.cycles is None else f"{answer.cycles:.2f}".rstrip("0").rstrip(".")


def issue_searches(code: bytes, predictors: Sequence[Predictor], isa: str = DEFAULT) -> list[IssueSearch]:
    """Searches of the tools' issue trackers by the block's mnemonics, one per tool."""
    searches = {}
    for row in predictors:
        tool = tool_and_core(row)
        if tool is None or tool[0] not in _TRACKERS or tool[0] in searches:
            continue
        named_mnemonics = mnemonics(code, isa)[:_MAX_MNEMONICS]
        words = ["is:issue", *([LLVM_MCA] if tool[0] == LLVM_MCA else []), *named_mnemonics]
        url = f"{_TRACKERS[tool[0]]}?{urlencode({'q': ' '.join(words)})}"
        searches[tool[0]] = IssueSearch(f"{_TITLES[tool[0]]}: {' '.join(named_mnemonics)}", url)
    return list(searches.values())


def mca_test(code: bytes, core: str, isa: str = DEFAULT) -> str:
    """A test file for llvm/test/tools/llvm-mca, of which update_mca_test_checks.py fills in the checks.

    Raises `BlockError` for code that is no block.
    """
    triple = f"{llvm_side(isa).triple}-unknown-unknown"
    lines = [
        "# NOTE: Add the checks with utils/update_mca_test_checks.py",
        f"# RUN: llvm-mca -mtriple={triple} -mcpu={core} -iterations=100 < %s | FileCheck %s",
        "",
        *att_of_bytes(code, isa),
    ]
    return "\n".join(lines) + "\n"


def measured_from(row: Predictor) -> StartValues | None:
    """The start values of blocks on a machine of this site; None for other predictors."""
    if row.kind != machine.KIND or not row.is_runnable:
        return None
    return kind_of(row.kind).settings_of(row.options).options.start  # type: ignore[no-any-return]


def operand_values_text(row: Predictor, code: bytes, isa: str = DEFAULT) -> str:
    """`rax = 0x62345600, cl = 0`: operand values of a measurement on a machine of this site; "" for other
    predictors.
    """
    start = measured_from(row)
    if start is None:
        return ""
    reads = reads_of(block_of_bytes(code, isa))
    return ", ".join(f"{name} = {value}" for name, value in reads.values(start).items())


def exegesis_snippet(code: bytes, answers: Sequence[ToolAnswer], isa: str = DEFAULT) -> str:
    """A snippet with which llvm-exegesis measures the block, from the start values of a measurement if there
    is one; "" for instruction sets without snippets.

    Raises:
        BlockError: The code cannot be decoded.
    """
    if target_of(isa).snippets is None:
        return ""
    schemes = [text for text in schemes_of_bytes(code, isa) if text is not None]
    lines = [
        f"{name_with_mode(row)} {'measured' if measures(row) else 'predicts'} {_number(answer)} cycles"
        for row, answer in answers
        if answer.cycles is not None
    ]
    starts = (measured_from(row) for row, answer in answers if answer.cycles is not None)
    start = next((start for start in starts if start is not None), BlockOptions().start)
    return write_block_exegesis(code, schemes, lines, start)
