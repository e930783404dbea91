"""The report of a disagreement: a block with its answers, commands, a Compiler Explorer session, a bug
report.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.http import HttpRequest
from django.urls import reverse

from anica_app.features.discoveries.query import DiscoveryParts, stored_answers
from anica_app.features.discoveries.report_parts import (
    NumberBar,
    ToolAnswer,
    exegesis_snippet,
    issue_searches,
    mca_test,
    measures,
    number_bars,
    operand_values_text,
    title_of,
)
from anica_app.features.discoveries.tool_commands import (
    LLVM_MCA,
    Command,
    commands_for,
    core_of,
    state,
    tool_and_core,
)
from anica_app.features.discoveries.wording import wording_of
from anica_app.models import Discovery
from anica_app.storage.findings import (
    RepeatedFinding,
    condition_of,
    findings_of_block,
    joined_conditions,
    lost_on,
    repeated_findings,
)
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import name_with_mode
from inference.formats.provenance import CITATION, PRODUCT
from inference.formats.quoting import code_block, code_span, markdown_cell, markdown_line
from inference.isa.blocks import block_of_hex, intel_of_bytes
from inference.isa.code.block import BlockName
from inference.models import Machine, Predictor
from inference.predictors.protocol import Answer
from inference.storage.instruction_sets import code_isa, core_name

MAX_EXAMPLES = 5
MAX_CONDITIONS = 5
"""Conditions on operands and dependencies in a report; the discovery's page has all."""
ANICA = (
    "Fabian Ritter and Sebastian Hack: AnICA: Analyzing Inconsistencies in Microarchitectural Code "
    "Analyzers. OOPSLA 2022."
)


@dataclass(frozen=True)
class BugReport:
    """A block that shows a discovery, with all known about it. `predictors` are the campaign's tools.

    `code` is the witness; `answers` of the campaign's tools come first; `digits` is "" for the default
    witness.

    `address` is the page of the discovery, "" where unknown.

    Attributes:
        evidence: (sampled blocks, interesting ones), None where unknown.
        more_examples: (code, answers of the campaign's tools).
        family: Name of a family that is reported as a whole, with the sentences about its `cause`.
    """

    discovery: Discovery
    predictors: Sequence[Predictor]
    code: bytes
    answers: Sequence[ToolAnswer]
    evidence: tuple[int, int] | None = None
    more_examples: Sequence[tuple[bytes, Sequence[Answer]]] = ()
    address: str = ""
    digits: str = ""
    family: str = ""
    cause: Sequence[str] = ()

    @property
    def isa(self) -> str:
        """The instruction set of the block."""
        return code_isa(self.discovery.campaign.isa)

    @property
    def title(self) -> str:
        """The headline: which tool predicts what for which block."""
        tools = len(self.predictors)
        title = title_of(self.code, self.answers[:tools], self.answers[tools:], self.isa)
        if lost_on(self.repeated):
            return f"Not repeated: {title}"
        condition = joined_conditions(self.repeated)
        return f"{title}, {condition}" if condition else title

    @cached_property
    def repeated(self) -> list[RepeatedFinding]:
        """Measurements of the block with other operand values."""
        return findings_of_block(self.discovery, self.code)

    @property
    def bars(self) -> list[NumberBar]:
        return number_bars(self.answers)

    @property
    def values(self) -> str:
        """The operand values that the block ran with; "" where no machine took part."""
        if self.repeated:
            return self.repeated[0].readings[0].operands_text
        return next(
            filter(None, (operand_values_text(row, self.code, self.isa) for row, _ in self.answers)), ""
        )

    @property
    def commands(self) -> list[Command]:
        """A shell command for each of the campaign's tools and for the default ones."""
        return commands_for(self.predictors, self.code, self.isa)

    @property
    def core(self) -> str:
        """The core, in LLVM's name, that an llvm-mca among the tools predicts for; "" without one."""
        tools = (tool_and_core(row) for row in self.predictors)
        return next((tool[2] for tool in tools if tool is not None and tool[0] == LLVM_MCA and tool[2]), "")

    @property
    def test(self) -> str:
        """A test file for llvm-mca; "" where none is among the tools."""
        return mca_test(self.code, self.core, self.isa) if self.core else ""

    @property
    def snippet(self) -> str:
        return exegesis_snippet(self.code, self.answers, self.isa)

    @property
    def session(self) -> Json:
        """The state of a Compiler Explorer session with the block and its answers."""
        lines = [f"{self.discovery.campaign.name}, {self.discovery}"]
        for row, answer in self.answers:
            lines.append(f"{name_with_mode(row)}: {answer.failure or f'{answer.cycles:.2f} cycles'}")
        return state(self.code, core_of(self.predictors, self.isa), "\n".join(lines), self.isa)


def address_of(request: HttpRequest | None, page: str, pk: int) -> str:
    return "" if request is None else request.build_absolute_uri(reverse(page, args=[pk]))


def report_of(
    parts: DiscoveryParts, digits: str = "", request: HttpRequest | None = None
) -> BugReport | None:
    """The report of a discovery, for a block or its smallest witness; None for a discovery without a block.

    A witness that a machine measured with other operand values is preferred to a smaller one, and among these
    one that the machine confirmed.

    Args:
        parts: The discovery.
        digits: Machine code of the block in hexadecimal; "" for the default witness.
        request: Gives the address of the page; None for a report without it.

    Raises:
        BlockError: `digits` is not a block.
    """
    examples, predictors = parts.examples(), parts.predictors
    witnesses = (finding for finding in repeated_findings(parts.discovery) if not finding.is_example)
    repeated = sorted(witnesses, key=lambda finding: finding.is_lost)
    measured = bytes.fromhex(repeated[0].block) if repeated else b""
    if digits or measured:
        code = block_of_hex(digits, parts.isa).code if digits else measured
        example = next((judged for judged in examples if judged.sample.code == code), None)
    else:
        example = parts.smallest(examples)
        code = bytes(parts.discovery.code) if example is None else example.sample.code
    if not code:
        return None
    name = BlockName(parts.isa, code)
    if example is None:
        places = {row.pk: place for place, row in enumerate(predictors)}
        answers = sorted(stored_answers(name, []), key=lambda answer: places.get(answer[0].pk, len(places)))
    else:
        own_answers = zip(predictors, example.sample.answers, strict=True)
        answers = [*own_answers, *stored_answers(name, predictors)]
    interesting_samples = [
        judged.sample for judged in examples if judged.interesting and judged.sample.code != code
    ]
    return BugReport(
        parts.discovery,
        predictors,
        code,
        answers,
        (len(examples), sum(judged.interesting is not False for judged in examples)),
        [(sample.code, sample.answers) for sample in interesting_samples[:MAX_EXAMPLES]],
        address_of(request, "discovery", parts.discovery.pk),
        digits,
    )


def markdown(report: BugReport) -> str:
    """The report as Markdown: what is expected and what is predicted, how to reproduce it, how general it is.

    The rest is folded, as GitHub and GitLab do with `<details>`. Raises `BlockError` where the witness cannot
    be decoded.
    """
    tool_commands = [line for line in report.commands if line.own and not line.is_here]
    parts = [
        f"# {markdown_line(report.title)}",
        *_warning(report),
        code_block("asm", "\n".join(intel_of_bytes(report.code, report.isa))),
        _table(report),
        *_details(report.answers),
        "## Reproduce",
        *map(_command, tool_commands or report.commands[:1]),
        *_operand_values(report),
        *_generality(report),
        *_more_examples(report),
        *_cause(report),
        *_searches(report),
        *_fold_lines("To measure and to test it", _for_maintainers(report, tool_commands)),
        *_fold_lines(
            "How it was found", ["\n".join(f"- {markdown_line(line)}" for line in _provenance(report))]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _command(line: Command) -> str:
    return f"{markdown_line(line.title)}:\n\n{code_block('sh', line.text)}"


def _fold_lines(summary: str, parts: Sequence[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", *parts, "</details>"]


def _warning(report: BugReport) -> list[str]:
    """A warning where a machine did not confirm the witness; [] otherwise."""
    return [
        f"**Do not report this:** {markdown_line(machine)} measured the block again with the same values, "
        "and did not show the difference."
        for machine in lost_on(report.repeated)
    ]


def _operand_values(report: BugReport) -> list[str]:
    """The operand values of measurements, and the results with other values."""
    values = [(row, operand_values_text(row, report.code, report.isa)) for row, _ in report.answers]
    lines = [
        f"- {markdown_line(row.name)} measured with {markdown_line(text)}" for row, text in values if text
    ]
    sections = ["\n".join(lines)] if lines else []
    for finding in report.repeated:
        sections.append(f"{markdown_line(finding.machine)}: {markdown_line(finding.sentence)}")
        sections += [_readings(finding)] if finding.condition else []
    condition = condition_of(report.discovery)
    if condition and not report.repeated:
        witness = "; ".join(intel_of_bytes(bytes(report.discovery.code), report.isa))
        sections.append(f"Found with {code_span(witness)}; shown by a machine {markdown_line(condition)}.")
    elif lines and not report.repeated:
        sections.append("It was not measured with other values.")
    return ["## Operand values", *sections] if sections else []


def _readings(finding: RepeatedFinding) -> str:
    names = list(finding.readings[0].operands)
    rows = [
        [
            markdown_cell(reading.values),
            *(markdown_cell(reading.operands.get(name, "")) for name in names),
            markdown_cell(reading.note or "–") if reading.cycles is None else f"{reading.cycles:.2f}",
            {True: "yes", False: "no", None: "–"}[reading.holds],
        ]
        for reading in finding.readings
    ]
    head = ["values", *map(markdown_cell, names), "cycles", "holds"]
    table = [head, ["---", *("---" for _ in names), "---:", "---"], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in table)


def _cause(report: BugReport) -> list[str]:
    if not report.cause:
        return []
    lines = [f"{markdown_line(report.family)}."] if report.family else []
    return ["## Cause", *lines, "\n".join(f"- {markdown_line(line)}" for line in report.cause)]


def _for_maintainers(report: BugReport, tool_commands: Sequence[Command]) -> list[str]:
    """The commands of further tools, a test and a snippet for LLVM's developers, the machine code."""
    remaining = [line for line in report.commands[not tool_commands :] if line not in tool_commands]
    sections = [f"Machine code: `{report.code.hex()}`"]
    if report.snippet:
        sections += ["Measure it with llvm-exegesis:", code_block("asm", report.snippet)]
    if report.core:
        sections += ["Test for llvm-mca:", code_block("asm", report.test)]
    return [*sections, *map(_command, remaining)]


def _searches(report: BugReport) -> list[str]:
    searches = issue_searches(report.code, [row for row, _ in report.answers], report.isa)
    links = [f"- [{search.title}]({search.url})" for search in searches]
    return ["## Perhaps known already", "\n".join(links)] if links else []


def _table(report: BugReport) -> str:
    """Measurements, which are expected, before predictions."""
    ranked = sorted(report.answers, key=lambda answer: not measures(answer[0]))
    rows = [
        f"| {'**expected**' if measures(row) else 'predicted'} | {_answer_text(answer)} "
        f"| {markdown_cell(name_with_mode(row))} | {markdown_cell(version_of(row))} |"
        for row, answer in ranked
    ]
    return "\n".join(["| | cycles per execution | by | version or processor |", "|---|---:|---|---|", *rows])


def _details(answers: Sequence[ToolAnswer]) -> list[str]:
    return [
        f"{markdown_line(name_with_mode(row))} said: {code_span(answer.detail)}"
        for row, answer in answers
        if answer.detail
    ]


def _answer_text(answer: Answer) -> str:
    return f"**{answer.failure}**" if answer.cycles is None else f"{answer.cycles:.2f}"


def version_of(row: Predictor) -> str:
    """The version of a predictor; for a machine its core and processor; "" where unknown."""
    measured = row.identity.get("measured")
    processor = measured.get("cpu") if isinstance(measured, dict) else ""
    name = row.options.get("machine", "") if row.pk and row.is_runnable else ""
    machine = Machine.objects.filter(name=name).select_related("isa").first() if name else None
    if machine is not None:
        processor = " · ".join(filter(None, (core_name(machine), processor)))
    version = row.identity.get("version") or row.identity.get("program") or processor or ""
    return str(version)


def _generality(report: BugReport) -> list[str]:
    words = wording_of(report.discovery.abstract)
    if words is None:
        return []
    lines = [
        f"{number}. {markdown_line(', '.join(phrases))}"
        for number, phrases in enumerate(words.instructions, start=1)
    ]
    lines += [f"- {markdown_line(sentence)}" for sentence in words.sentences[:MAX_CONDITIONS]]
    n_omitted = len(words.sentences) - MAX_CONDITIONS
    if n_omitted > 0:
        lines.append(f"- and {n_omitted} more conditions on operands and dependencies")
    text = "The block is one of many: this holds for blocks of these instructions."
    if report.evidence is not None and report.evidence[0]:
        sampled, interesting = report.evidence
        text += f" Of {sampled} random ones that were looked at last, {interesting} showed the difference."
    return ["## How general it is", text, "\n".join(lines)]


def _more_examples(report: BugReport) -> list[str]:
    if not report.more_examples:
        return []
    tool_answers = report.answers[: len(report.more_examples[0][1])]
    names = [markdown_cell(name_with_mode(row)) for row, _ in tool_answers]
    blocks = [(intel_of_bytes(code, report.isa), answers) for code, answers in report.more_examples]
    rows = [
        f"| {code_span('; '.join(lines))} | {' | '.join(map(_answer_text, answers))} |"
        for lines, answers in blocks
    ]
    head = [f"| block | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    return ["Some more of them:", "\n".join([*head, *rows])]


def _provenance(report: BugReport) -> list[str]:
    row, campaign = report.discovery, report.discovery.campaign
    config = campaign.config
    seed = config.get("seed") if isinstance(config, dict) else None
    interest = config.get("interest") if isinstance(config, dict) else None
    facts = [
        ("found by", PRODUCT),
        ("campaign", f"{campaign.name}, {campaign.created:%Y-%m-%d}"),
        ("family", report.family),
        ("discovery", f"number {row.number}{row.label and f', {row.label}'}"),
        ("source", campaign.source),
        ("seed", "" if seed is None else str(seed)),
        ("interesting is", json.dumps(interest, sort_keys=True) if interest else ""),
        ("where", report.address),
        ("method", ANICA),
        ("cite", CITATION),
    ]
    return [f"{label}: {text}" for label, text in facts if text]
