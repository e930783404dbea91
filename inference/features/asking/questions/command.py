"""`manage.py predict`: predict basic blocks by any predictors, or experiments by mappings.

It replaces the command `predict` of experiments, which it runs unless an option asks for blocks.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.core.loop.simulated import CannotSimulateError
from inference.core.simulation.steady_state import compile_simulation
from inference.features.asking.blocks.port_load import BlockLoad, load_of
from inference.features.asking.loop.answer import cpu_of, explained
from inference.features.asking.loop.document import TIMELINE_FORMATS, document_of, lines_of, timeline_for
from inference.features.asking.loop.query import cpus
from inference.features.asking.loop.request import LoopQuestion
from inference.features.asking.loop.tools import askable_tools
from inference.features.asking.predictors.modes import (
    AS_NAMED,
    add_mode_option,
    different_modes,
    rows_in_mode,
)
from inference.features.asking.predictors.query import (
    check_processor,
    different_processors,
    different_processors_text,
    row_on_processor,
)
from inference.features.asking.questions.job import ask
from inference.features.asking.questions.query import with_aliasing_variants
from inference.features.library.experiments.shell import PredictExperiment
from inference.formats.quoting import csv_text
from inference.isa.block_changes import AddressRelation
from inference.isa.blocks import block_of_bytes
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.code.block import Block
from inference.measuring.blocks import UNROLLED
from inference.models import PortMapping, Predictor
from inference.predictors import core_model
from inference.predictors.kinds import loop_wording
from inference.predictors.memory_variants import variants
from inference.predictors.protocol import Answer
from inference.storage.instruction_sets import code_isa
from inference.storage.names import by_name
from inference.web.data_command import add_piece_option, blocks_of_file, pieces_of_file, write_file

MAX_BLOCKS = 100_000
_CODE_WIDTH = 44


class Command(PredictExperiment):
    help = (
        "Predict an experiment's inverse throughput, name what limits it, and show the load of every port. "
        "With --predictor, predict the cycles that basic blocks take per execution."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        (argument,) = (action for action in parser._actions if action.dest == "experiment")
        argument.metavar = "EXPERIMENT|FILE"
        argument.help = (
            f"{argument.help}; with --predictor a file of code as `manage.py decode` reads it, or a CSV file "
            "with digits in its first column; - for the standard input"
        )
        add_piece_option(parser)
        parser.add_argument(
            "--predictor",
            metavar="NAME",
            action="append",
            default=[],
            help="predictor of the blocks, by its name in `manage.py predictors` or as "
            "KIND:OPTION=VALUE,…, e.g. llvm-mca:release=19,cpu=haswell; repeatable",
        )
        parser.add_argument(
            "--processor",
            metavar="NAME",
            default="",
            help="with --predictor: processor for all tools that know several, e.g. 'Zen 3'; a tool that "
            "names its own keeps it (default: that of this computer)",
        )
        add_mode_option(parser, "as each predictor says; unrolled with --why")
        parser.add_argument("--csv", action="store_true", help="with --predictor: print a CSV file")
        parser.add_argument(
            "--memory",
            action="store_true",
            help="with --predictor: predict the one block with the same address, other offsets, other "
            "bases, in this order, and llvm-mca with -noalias=false as well",
        )
        parser.add_argument(
            "--ports",
            metavar="MAPPING",
            help="instead of --predictor: the load of each port by each instruction, by this port mapping",
        )
        parser.add_argument(
            "--why",
            action="store_true",
            help="explain the blocks: what limits them, per instruction, by --cpu or the core model of "
            "--predictor",
        )
        parser.add_argument(
            "--cpu",
            metavar="NAME",
            default="",
            help="with --why: core model, e.g. 'Recorded Zen 4' (default: that of this computer, else the "
            "newest; where there is none, the recorded one)",
        )
        parser.add_argument(
            "--timeline",
            metavar="FILE",
            type=Path,
            help="with --why: also write the timeline of the one block, by the end of the file's name: .svg, "
            ".json (a trace for Perfetto and Chrome) or .txt",
        )
        parser.add_argument(
            "--tools",
            action="store_true",
            help="with --why: also ask the installed tools that know the CPU",
        )
        parser.add_argument("--again", action="store_true", help="with --predictor: ignore cached answers")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["why"]:
            self._write_explanations(options)
            return
        if options["cpu"] or options["timeline"] or options["tools"]:
            raise CommandError("--cpu, --timeline and --tools go with --why")
        if not options["predictor"] and not options["ports"]:
            super().handle(*args, **options)
            return
        row = _mapping(options["ports"]) if options["ports"] else None
        isa = options["isa"] if row is None else code_isa(row.isa)
        blocks = blocks_of_file(options["experiment"], options["piece"], MAX_BLOCKS, self.stderr.write, isa)
        if row is not None:
            self._write_ports(row, blocks, as_json=options["json"])
            return
        rows = _chosen(options["predictor"], options["processor"], options["mode"], blocks[0].isa)
        if warning := different_processors_text(different_processors(rows)):
            self.stderr.write(f"warning: {warning}")
        if modes := different_modes(rows):
            parts = "; ".join(f"{mode}: {', '.join(names_in_mode)}" for mode, names_in_mode in modes.items())
            self.stderr.write(f"warning: predictors answer blocks without a jump in different modes: {parts}")
        if options["memory"]:
            rows, blocks = with_aliasing_variants(rows), _memory_variants(blocks)
        names, answers = _answers(rows, blocks, anew=options["again"])
        if options["json"]:
            self.stdout.write(json.dumps(_answers_json(rows, names, blocks, answers), ensure_ascii=False))
        elif options["csv"]:
            self._write_csv(names, blocks, answers)
        else:
            labels = [f"{kind}: " for kind in AddressRelation] if options["memory"] else [""] * len(blocks)
            self._write_table(names, blocks, answers, labels)
            self._write_loops(rows, names, blocks)

    def _write_ports(self, row: PortMapping, blocks: Sequence[Block], *, as_json: bool) -> None:
        """Print a table per block: a line per instruction, a column per port."""
        loads = [load_of(block, row) for block in blocks]
        if as_json:
            head = {"mapping": row.name, "ports": row.ports}
            block_loads = [_load_json(block, load) for block, load in zip(blocks, loads, strict=True)]
            self.stdout.write(json.dumps({**head, "blocks": block_loads}, ensure_ascii=False))
            return
        for number, (block, load) in enumerate(zip(blocks, loads, strict=True), start=1):
            self.stdout.write(f"block {number}: {_summary(load)}")
            if load is None:
                continue
            self.stdout.write("".join([f"  {'':<{_CODE_WIDTH}}", *(f"{port:>7}" for port in row.ports)]))
            parts = zip(block.listing, load.instructions, strict=True)
            lines = [(text, part.ports) for (_, text), part in parts]
            for text, ports in [*lines, ("all", load.schedule.loads)]:
                cells = [f"{cycles:>7.3f}" if cycles else f"{'·':>7}" for cycles in ports or ()]
                self.stdout.write(
                    "".join([f"  {text[:_CODE_WIDTH]:<{_CODE_WIDTH}}", *(cells or ["  not described"])])
                )

    def _write_explanations(self, options: dict[str, Any]) -> None:
        """Print per block what a core model says about it, and write its timeline."""
        timeline: Path | None = options["timeline"]
        ending = None if timeline is None else _timeline_ending(timeline)
        question = _question(options)
        reading, pieces = pieces_of_file(
            options["experiment"], options["piece"], MAX_BLOCKS, self.stderr.write, question.isa
        )
        if timeline is not None and len(pieces) != 1:
            raise CommandError(f"--timeline takes one block, not {len(pieces):,}: choose it with --piece")
        compile_simulation()
        question = question.model_copy(update={"isa": pieces[0].block.isa})
        cpu = cpu_of(question, cpus())
        numbers = [reading.pieces.index(piece) + 1 for piece in pieces]
        answers = [
            explained(question.model_copy(update={"piece": number}), cpu, reading) for number in numbers
        ]
        if options["tools"] and (predictors := askable_tools(answers[0])):
            blocks = [answer.block for answer in answers]
            for column in ask(predictors, [block.code for block in blocks], isa=question.isa):
                if column.error:
                    self.stderr.write(f"warning: {column.predictor.name}: {column.error}")
        if options["json"]:
            documents = [document_of(answer, tools=options["tools"]) for answer in answers]
            self.stdout.write(json.dumps({"blocks": documents}, ensure_ascii=False))
        else:
            for number, answer in enumerate(answers, start=1):
                lines = lines_of(answer, tools=options["tools"])
                self.stdout.write("\n".join([f"block {number}: {answer.verdict}", *lines]))
        if timeline is not None and ending is not None:
            try:
                loop = timeline_for(answers[0])
            except CannotSimulateError as error:
                raise CommandError(f"there is no timeline: {error}") from error
            write_file(timeline, TIMELINE_FORMATS[ending].write(loop).encode())

    def _write_csv(
        self, names: Sequence[str], blocks: Sequence[Block], answers: Sequence[Sequence[Answer]]
    ) -> None:
        """Print the CSV file of a block set; −1 stands for no number."""
        rows = (
            [block.hex, *(-1 if answer.cycles is None else round(answer.cycles, 6) for answer in row)]
            for block, row in zip(blocks, answers, strict=True)
        )
        self.stdout.write(csv_text(["bb", *names], rows), ending="")

    def _write_table(
        self,
        names: Sequence[str],
        blocks: Sequence[Block],
        answers: Sequence[Sequence[Answer]],
        labels: Sequence[str],
    ) -> None:
        """Print a line per block, after its label."""
        widths = [max(len(name), 11) for name in names]
        heads = "  ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
        self.stdout.write(f"{'block':<{_CODE_WIDTH}}  {heads}")
        for label, block, row in zip(labels, blocks, answers, strict=True):
            text = label + "; ".join(instruction.text for instruction in block.instructions)
            text = text if len(text) <= _CODE_WIDTH else f"{text[: _CODE_WIDTH - 1]}…"
            cells = [answer.failure if answer.cycles is None else f"{answer.cycles:.2f}" for answer in row]
            line = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
            self.stdout.write(f"{text:<{_CODE_WIDTH}}  {line}")
            for name, answer in zip(names, row, strict=True):
                if answer.detail:
                    self.stdout.write(f"  {name}: {answer.detail}")

    def _write_loops(self, rows: Sequence[Predictor], names: Sequence[str], blocks: Sequence[Block]) -> None:
        loop = next((block for block in blocks if block.closing is not None), None)
        if loop is not None:
            for row, name in zip(rows, names, strict=True):
                self.stdout.write(f"  {name}: loop, {loop_wording(row.kind, loop.name)}")


_TIMELINE_ENDINGS = {".svg": "svg", ".json": "trace.json", ".txt": "txt"}
"""{suffix of a file: format}."""


def _timeline_ending(file: Path) -> str:
    ending = _TIMELINE_ENDINGS.get(file.suffix.lower())
    if ending is None:
        raise CommandError(
            f"--timeline: {file.name} ends neither in .svg, nor in .json (a trace for Perfetto and Chrome), "
            "nor in .txt"
        )
    return ending


def _question(options: dict[str, Any]) -> LoopQuestion:
    """The question without its code; its CPU by --cpu, or by a core model as the only --predictor."""
    names = options["predictor"]
    fields: dict[str, Any] = {"cpu": options["cpu"], "mode": options["mode"] or UNROLLED}
    if names:
        if options["cpu"]:
            raise CommandError("--why takes --cpu or --predictor, not both")
        rows = _chosen(names, mode=options["mode"])
        if len(rows) != 1 or rows[0].kind != core_model.KIND:
            raise CommandError('--why takes one core model: --cpu NAME, or --predictor "core model NAME"')
        settings = core_model.CoreModelSettings(**rows[0].options)
        fields = {
            "cpu": settings.model,
            "mode": settings.mode,
            "registers": settings.registers,
            "unknown": settings.unknown,
            "omit": ",".join(settings.left_out),
        }
    return LoopQuestion(isa=options["isa"], **fields)


def _mapping(name: str) -> PortMapping:
    """The port mapping of this name. Raises `CommandError` if its instruction set has no blocks."""
    row = by_name(PortMapping, name)
    if obstacle := obstacle_to_blocks(row.name, row.isa.name):
        raise CommandError(obstacle)
    return row


def _chosen(
    texts: Sequence[str], processor: str = "", mode: str = AS_NAMED, isa: str = ""
) -> list[Predictor]:
    check_processor(processor)
    rows = [row_on_processor(text, processor, may_choose=True, isa=isa) for text in dict.fromkeys(texts)]
    return rows_in_mode(rows, mode)


def _memory_variants(blocks: Sequence[Block]) -> list[Block]:
    if len(blocks) != 1:
        raise CommandError(f"--memory takes one block, not {len(blocks):,}")
    by_address = variants(blocks[0].code, blocks[0].isa)
    return [block_of_bytes(code, blocks[0].isa) for code in by_address.code.values()]


def _answers(
    rows: Sequence[Predictor], blocks: Sequence[Block], *, anew: bool
) -> tuple[list[str], list[list[Answer]]]:
    """The names of the predictors, and per block the answer of each."""
    by_predictor = {
        column.predictor: column
        for column in ask(rows, [block.code for block in blocks], isa=blocks[0].isa, use_cache=not anew)
    }
    columns = [by_predictor[row] for row in rows]
    if errors := [column.error for column in columns if column.error]:
        raise CommandError("\n".join(errors))
    names = [column.predictor.name for column in columns]
    return names, [list(row) for row in zip(*(column.answers for column in columns), strict=True)]


def _answers_json(
    rows: Sequence[Predictor],
    names: Sequence[str],
    blocks: Sequence[Block],
    answers: Sequence[Sequence[Answer]],
) -> dict[str, Any]:
    return {
        "predictors": list(names),
        "blocks": [
            {
                **block.name.as_json(),
                "assembly": [answer.text for answer in block.instructions],
                "kind": block.kind,
                "answers": [
                    {
                        "cycles": answer.cycles,
                        "failure": answer.failure,
                        "detail": answer.detail,
                        "asked_as": loop_wording(row.kind, block.name),
                    }
                    for row, answer in zip(rows, row_answers, strict=True)
                ],
            }
            for block, row_answers in zip(blocks, answers, strict=True)
        ],
    }


def _summary(load: BlockLoad | None) -> str:
    if load is None:
        return "the mapping describes none of its instructions"
    suffix = "" if load.described else "; of the instructions that the mapping describes"
    return f"{load.schedule.cycles:.3f} cycles{suffix}"


def _load_json(block: Block, load: BlockLoad | None) -> dict[str, Any]:
    if load is None:
        return {**block.name.as_json(), "cycles": None, "loads": None, "instructions": []}
    parts = zip(block.listing, load.instructions, strict=True)
    return {
        **block.name.as_json(),
        "cycles": load.schedule.cycles,
        "loads": load.schedule.loads,
        "instructions": [{"text": text, "loads": part.ports} for (_, text), part in parts],
    }
