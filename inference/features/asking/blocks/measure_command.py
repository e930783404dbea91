"""`manage.py measure-block`: basic blocks on a machine, in cycles per iteration; see `run_command`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError

from inference.core.protocols import Json
from inference.features.asking.blocks.events import MAX_BLOCKS
from inference.isa.blocks import block_of_hex, isa_of_fields, iteration_of
from inference.isa.bodies import obstacle_to_blocks
from inference.measuring.blocks import MODES, BlockOptions
from inference.models import Machine, Run
from inference.runs import lifecycle
from inference.storage.instruction_sets import code_isa
from inference.storage.names import by_name
from inference.web.data_command import add_piece_option, blocks_of_file
from inference.web.run_command import RunCommand


class Command(RunCommand):
    help = "Measure basic blocks on a machine, in cycles per iteration. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        usual = BlockOptions()
        parser.add_argument(
            "file",
            help="code as `manage.py decode` reads it, or a CSV file with digits in its first column; - for "
            "the standard input",
        )
        add_piece_option(parser)
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--mode",
            choices=MODES,
            default=usual.mode,
            help="copies after a fresh start, by the difference of two lengths; or in a loop that goes on "
            f"from where it was ({usual.mode})",
        )
        parser.add_argument(
            "--copies", type=int, default=usual.copies, metavar="N", help="copies of the block; 0: as usual"
        )
        for name, noun in (("registers", "general-purpose registers"), ("memory", "every 8 bytes of memory")):
            parser.add_argument(
                f"--{name}",
                type=lambda text: int(text, 0),
                default=getattr(usual, name),
                metavar="VALUE",
                help=f"what {noun} start with ({getattr(usual, name):#x})",
            )
        parser.add_argument(
            "--values",
            type=_values,
            default={},
            metavar="NAME=VALUE,…",
            help="what single registers start with instead, such as rcx=3; vector and memory: the pattern of "
            "all of them; masks: 0, or 1 for ones",
        )
        parser.add_argument(
            "--repeat-values",
            action="store_true",
            help="measure each block again with 0, 1, small numbers and all ones in what it reads, to see "
            "whether its time depends on them",
        )
        parser.add_argument(
            "--pages", type=int, default=usual.pages, metavar="N", help=f"it may touch ({usual.pages})"
        )
        parser.add_argument("--name", default="", help="name of the run")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        run = self.do_run(lambda: self._submitted(options))
        answers: list[Json] = run.result["blocks"]
        if options["json"]:
            self.stdout.write(json.dumps({"url": f"/runs/{run.pk}/", "blocks": answers}))
            return
        for answer in answers:
            cycles = "–" if answer["cycles"] is None else f"{answer['cycles']:.3f}"
            block = block_of_hex(answer["hex"], isa_of_fields(answer))
            notes = [note for note in (iteration_of(block).loop_note, answer["note"]) if note]
            first = block.instructions[0].text
            notes.append(", ".join(f"{name} = {value}" for name, value in answer["operands"].items()))
            self.stdout.write(f"{cycles:>10}  {answer['state']:<9}  {first} …  {'; '.join(notes)}".rstrip())
            for other in answer["repeated"]:
                cycles = "–" if other["cycles"] is None else f"{other['cycles']:.3f}"
                operands = ", ".join(f"{name} = {value}" for name, value in other["operands"].items())
                self.stdout.write(f"{cycles:>10}  {other['state']:<9}    with {operands}")

    def _submitted(self, options: dict[str, Any]) -> Run:
        machine = by_name(Machine, options["machine"])
        if hindered := obstacle_to_blocks(machine.name, machine.isa.name):
            raise CommandError(hindered)
        blocks = blocks_of_file(
            options["file"], options["piece"], MAX_BLOCKS, self.stderr.write, code_isa(machine.isa)
        )
        config = {
            "machine": machine.pk,
            "isa": blocks[0].isa,
            "blocks": [block.hex for block in blocks],
            "options": {name: options[name] for name in BlockOptions.__dataclass_fields__},
            "values": options["values"],
            "repeat_values": options["repeat_values"],
        }
        return lifecycle.submit("block", config, options["name"])


def _values(text: str) -> dict[str, int]:
    values = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        try:
            values[name.strip()] = int(value, 0)
        except ValueError:
            equals = ""
        if not equals:
            raise ArgumentTypeError(f"values are written NAME=VALUE, with commas between, not {part!r}")
    return values
