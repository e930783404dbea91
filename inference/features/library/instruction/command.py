"""`manage.py instruction`: ports, cycles and latencies of an instruction's forms."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from inference.core.mapping import described
from inference.features.library.instruction.cpus import Cpu
from inference.features.library.instruction.evidence import Certainty, FormOnCpu
from inference.features.library.instruction.query import InstructionCard, card_as_json, card_of
from inference.features.library.instruction.request import InstructionRequest
from inference.isa.targets import DEFAULT
from inference.web.data_command import DataCommand
from inference.web.validation import RequestError, read


class Command(DataCommand):
    help = "Print ports, cycles and latency of every form of an instruction on every CPU with facts about it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mnemonic", metavar="MNEMONIC", help="the assembler's name: imul, cmovnz")
        parser.add_argument(
            "operands", metavar="OPERAND", nargs="*", help="only forms with these operands: r64 m64, xmm/m128"
        )
        parser.add_argument(
            "--isa", metavar="NAME", default=DEFAULT, help="instruction set (default: %(default)s)"
        )
        parser.add_argument(
            "--on", metavar="NAME", action="append", default=[],
            help="only this machine or imported port mapping; repeatable (default: all)",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the forms, each with a line per CPU."""
        parameters = {
            "mnemonic": options["mnemonic"],
            "isa": options["isa"],
            "forms": " ".join(options["operands"]),
        }
        card = self._card(parameters, options["on"])
        self.print_answer(card_as_json(card), _lines(card), as_json=options["json"])

    def _card(self, parameters: dict[str, str], names: list[str]) -> InstructionCard:
        card = card_of(read(InstructionRequest, parameters))
        keys_by_name = {cpu.name: cpu.key for cpu in (*card.cpus, *card.further)}
        unknown = [name for name in names if name not in keys_by_name]
        if unknown:
            right = ", ".join(keys_by_name) or "none"
            raise RequestError("--on", f"there are no facts about {card.mnemonic} on {unknown[0]!r}", right)
        if not names and not card.further:
            return card
        keys = [keys_by_name[name] for name in names] if names else list(keys_by_name.values())[:8]
        return card_of(read(InstructionRequest, {**parameters, "cpus": ",".join(keys)}))


def _lines(card: InstructionCard) -> Iterator[str]:
    for form in card.forms:
        yield form.scheme.text
        for cpu, cell in zip(card.cpus, form.cells, strict=True):
            if not cell.is_empty:
                yield f"  {cpu.name}: {_cell_text(cpu, cell)}"
                yield from (f"    {other}" for other in _contradictions(cell))
    if not card.forms:
        yield f"there are no facts about {card.mnemonic}: no machine has measured it, no mapping describes it"
    if card.silent:
        yield f"{len(card.silent)} more form{'' if len(card.silent) == 1 else 's'} without facts"


def _cell_text(cpu: Cpu, cell: FormOnCpu) -> str:
    parts = []
    if cell.uops is not None:
        parts.append(described(cell.uops, cpu.ports))
    if cell.alone is not None:
        parts.append(f"{cell.alone.cycles:.2f} cycles")
    if cell.predicted is not None and (cell.alone is None or cell.off is not None):
        parts.append(f"{cell.predicted:.2f} cycles predicted")
    if cell.latency is not None and cell.latency.least is not None:
        ends = dict.fromkeys(f"{end:.2f}" for end in (cell.latency.least, cell.latency.most))
        parts.append(f"latency {'–'.join(ends)}")
    elif cell.latency is not None and cell.latency.at_most is not None:
        parts.append(f"latency ≤ {cell.latency.at_most:.2f}")
    if cell.slots is not None:
        parts.append(f"{cell.slots} slot{'' if cell.slots == 1 else 's'}")
    if cell.certainty is not Certainty.UNKNOWN:
        parts.append(f"{cell.certainty} ({cell.why})")
    return ", ".join(parts)


def _contradictions(cell: FormOnCpu) -> Iterator[str]:
    yield from (*cell.conditions, *cell.conflicts)
    for usage in cell.other_usages:
        yield f"{usage.mapping.name} says {described(usage.uops, usage.mapping.ports)}"
    for number in cell.documents:
        yield f"{number.source} says {number.what} {number.documented}"
