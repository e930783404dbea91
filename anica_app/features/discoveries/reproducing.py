"""Everything to see a disagreement elsewhere: a block with its answers, a bug report, a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from anica_app.features.discoveries.bug_report import BugReport, markdown
from anica_app.features.discoveries.compiler_explorer import state
from anica_app.features.discoveries.query import DiscoveryParts, JudgedBlock, known_answers
from anica_app.features.discoveries.report_parts import Said
from anica_app.features.discoveries.saying import words_of
from anica_app.features.discoveries.tool_commands import (
    LLVM_MCA,
    Command,
    commands_for,
    core_of,
    tool_and_core,
)
from anica_app.storage.operand_values import findings_of_block, repeated_findings
from inference.core.protocols import Json
from inference.features.asking.predictors.modes import titled
from inference.isa.blocks import BlockName, block_of_hex
from inference.models import Predictor
from inference.predictors.protocol import Answer

MOST_OTHERS = 5


@dataclass(frozen=True)
class ReproducedBlock:
    """The block at hand, with what is known of it. `digits` are "" where it is the usual one."""

    name: BlockName
    digits: str
    answers: Sequence[tuple[Predictor, Answer]]
    examples: Sequence[JudgedBlock]

    @property
    def code(self) -> bytes:
        return self.name.code


def chosen_block(found: DiscoveryParts, digits: str = "") -> ReproducedBlock | None:
    """The block of these digits, else the smallest witness; None where a discovery came without one.

    A witness that a machine measured with other values of its operands is preferred to a smaller one, and of
    these one that it showed again. Raises `BlockError` for digits of no block.
    """
    examples = found.examples()
    witnesses = (finding for finding in repeated_findings(found.discovery) if not finding.is_example)
    repeated = sorted(witnesses, key=lambda finding: finding.is_lost)
    measured = bytes.fromhex(repeated[0].block) if repeated else b""
    if digits or measured:
        code = block_of_hex(digits, found.isa).code if digits else measured
        example = next((one for one in examples if one.sample.code == code), None)
    else:
        example = found.smallest(examples)
        code = bytes(found.discovery.code) if example is None else example.sample.code
    if not code:
        return None
    name = BlockName(found.isa, code)
    if example is None:
        answers = _campaign_first(known_answers(name, []), found.predictors)
    else:
        own = list(zip(found.predictors, example.sample.answers, strict=True))
        answers = [*own, *known_answers(name, found.predictors)]
    return ReproducedBlock(name, digits, answers, examples)


def _campaign_first(answers: Sequence[Said], predictors: Sequence[Predictor]) -> list[Said]:
    """Those of the campaign's tools before others."""
    places = {row.pk: place for place, row in enumerate(predictors)}
    return sorted(answers, key=lambda said: places.get(said[0].pk, len(places)))


def commands_of(found: DiscoveryParts, chosen: ReproducedBlock) -> list[Command]:
    """How each of the campaign's tools, and the usual ones, are asked about the block in a shell."""
    return commands_for(found.predictors, chosen.code)


def report_of(found: DiscoveryParts, chosen: ReproducedBlock, address: str) -> str:
    """The bug report in Markdown; `address` is where people find the discovery."""
    others = [one for one in chosen.examples if one.interesting and one.sample.code != chosen.code]
    interesting = sum(one.interesting is not False for one in chosen.examples)
    return markdown(
        BugReport(
            found.discovery,
            chosen.code,
            chosen.answers,
            commands_of(found, chosen),
            words_of(found.discovery.abstract),
            (len(chosen.examples), interesting),
            [(one.sample.code, one.sample.answers) for one in others[:MOST_OTHERS]],
            address,
            mca_core(found.predictors),
            repeated=findings_of_block(found.discovery, chosen.code),
        )
    )


def mca_core(predictors: Sequence[Predictor]) -> str:
    """The core, as LLVM names it, that an llvm-mca among the tools was asked about; "" without such."""
    known = (tool_and_core(row) for row in predictors)
    return next((one[2] for one in known if one is not None and one[0] == LLVM_MCA and one[2]), "")


def session_of(found: DiscoveryParts, chosen: ReproducedBlock) -> Json:
    """The state of a Compiler Explorer session with the block and what was said of it."""
    comment = f"{found.campaign.name}, {found.discovery}"
    said = [
        f"{titled(row)}: {answer.failure or f'{answer.cycles:.2f} cycles'}" for row, answer in chosen.answers
    ]
    return state(chosen.code, core_of(found.predictors), "\n".join([comment, *said]))
