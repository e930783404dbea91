"""A patch of LLVM's scheduling model: new writes, their opcodes, the evidence, and a test for llvm-mca.

A definition is changed where it is off by more than measurement noise: latencies by more than 0.6 cycles,
since LLVM has integers; inverse throughputs by more than 15 % and 0.15 cycles. µops are compared only for
instructions without memory operands, which LLVM's models count in several ways. Latencies through memory mean
something else to LLVM, and eliminated moves are described elsewhere: both are left as they are.
"""

from __future__ import annotations

import difflib
import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from inference.core.texts import as_single_line
from inference.formats.exports import ExportedCore, ExportedScheme
from inference.formats.llvm_patch.shipped import (
    OpcodeClass,
    Override,
    ShippedModel,
    WriteCosts,
    shipped_model,
)
from inference.formats.llvm_td import Opcodes, plainest_by_opcode
from inference.formats.problems import ExchangeError
from inference.formats.quoting import comment, patch_remark
from inference.isa.llvm_schemes import llvm_side
from inference.isa.llvm_tblgen import LlvmSources, TableGeneratorError, records_of, sources_in
from inference.isa.targets import target_of

_DEFINITION = re.compile(  # bounded: a file of LLVM itself, in which definitions end
    r"^[ \t]*def\s*+\w*\s*+:\s*InstRW<\s*\[([^\]]*)\]\s*,\s*\((instregex|instrs)\s+(.*?)\)\s*>\s*;[^\n]*\n",
    re.DOTALL | re.MULTILINE,
)
_STRING = re.compile(r'"([^"]*)"')
_COMMENT = re.compile(r"//[^\n]*")
_WIDTH = 80  # columns, as LLVM's sources have


@dataclass(frozen=True)
class ModelFile:
    """The file of a scheduling model: its path below LLVM's folder, and its text."""

    path: str
    text: str


def file_of_model(folder: Path, target: Path, model: str) -> ModelFile:
    """The `.td` file with the definitions of a model. Raises `ExchangeError` where there is none."""
    model_line = re.compile(rf"SchedModel\s*=\s*{re.escape(model)}\b")
    for path in sorted(target.glob("*.td")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if model_line.search(text):
            return ModelFile(path.relative_to(folder).as_posix(), text)
    raise ExchangeError(f"no file in {target} has definitions of {model}")


def places_of_overrides(text: str, overrides: Sequence[Override]) -> dict[int, tuple[int, int]]:
    """{index of the override: (begin, end) of its definition}, of those that the text defines."""
    spans_by_override: dict[Override, list[tuple[int, int]]] = {}
    for match in _DEFINITION.finditer(text):
        writes, operator, arguments = match.groups()
        bare_arguments = _COMMENT.sub("", arguments)
        names = _STRING.findall(bare_arguments) if operator == "instregex" else _words(bare_arguments)
        definition = Override(tuple(_words(_COMMENT.sub("", writes))), operator, tuple(names))
        spans_by_override.setdefault(definition, []).append(match.span())
    places = {}
    for number, override in enumerate(overrides):
        if spans := spans_by_override.get(override):
            places[number] = spans.pop(0)
    return places


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text) if word]


def with_replacements(text: str, replacements: dict[tuple[int, int], str]) -> str:
    """The text with new contents of some (begin, end) ranges."""
    return "".join(_parts(text, replacements))


def _parts(text: str, replacements: dict[tuple[int, int], str]) -> Iterator[str]:
    place = 0
    for (begin, end), words in sorted(replacements.items()):
        yield text[place:begin]
        yield words
        place = end
    yield text[place:]


def listed_override(writes: Sequence[str], opcodes: Sequence[str]) -> str:
    """An `InstRW` that names its opcodes."""
    names = textwrap.fill(", ".join(opcodes), _WIDTH, initial_indent="  ", subsequent_indent="  ")
    return f"def : InstRW<[{', '.join(writes)}], (instrs\n{names}\n)>;\n"


LATENCY_NOISE = 0.6
"""Cycles."""

THROUGHPUT_NOISE = 0.15
"""Cycles, and share of the measured cycles; a difference must exceed both."""


@dataclass(frozen=True)
class OpcodeChange:
    """LLVM's costs of an opcode and the measured ones; equal where they agree within noise."""

    opcode: str
    scheme: ExportedScheme
    group: OpcodeClass
    shipped: WriteCosts
    measured: WriteCosts
    remarks: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return self.shipped != self.measured


@dataclass
class ModelDifference:
    """The opcodes that were compared, and (opcode, reason) of those that could not be."""

    compared: list[OpcodeChange] = field(default_factory=list)
    left_alone: list[tuple[str, str]] = field(default_factory=list)

    @property
    def changes(self) -> list[OpcodeChange]:
        return [change for change in self.compared if change.differs]


def model_difference(core: ExportedCore, opcodes: Mapping[str, str], model: ShippedModel) -> ModelDifference:
    """Compare a core model with LLVM's. `opcodes`: {scheme: LLVM's name}."""
    difference = ModelDifference()
    for opcode, scheme in sorted(plainest_by_opcode(core.mapping, opcodes).items(), key=itemgetter(0)):
        group = model.class_of(opcode)
        if group is None:
            difference.left_alone.append((opcode, "these files of LLVM do not have it"))
        elif len(group.writes) != 1 or group.writes[0] not in model.costs:
            difference.left_alone.append((opcode, f"scheduled by {', '.join(group.writes) or 'nothing'}"))
        else:
            difference.compared.append(_compare_opcode(core, opcode, scheme, group, model))
    return difference


def _compare_opcode(
    core: ExportedCore, opcode: str, scheme: ExportedScheme, group: OpcodeClass, model: ShippedModel
) -> OpcodeChange:
    shipped = model.costs[group.writes[0]]
    measured = shipped
    remarks = []
    for changed, words in _changes(core, scheme, shipped, model.units):
        measured = replace(measured, **changed)
        remarks.append(words)
    return OpcodeChange(opcode, scheme, group, shipped, measured, tuple(remarks))


def _changes(
    core: ExportedCore, scheme: ExportedScheme, shipped: WriteCosts, units: Mapping[str, int]
) -> Iterator[tuple[dict[str, Any], str]]:
    """(new fields of `WriteCosts`, remark) for each difference beyond noise."""
    accesses = "".join(operand["access"] for operand in scheme.operands if operand["kind"] == "memory")
    latency = core.largest_latency(scheme.text)
    if latency and "W" not in accesses and abs(latency - shipped.latency) > LATENCY_NOISE:
        yield {"latency": round(latency)}, f"latency {shipped.latency} → {round(latency)} ({latency:.3g})"
    if core.mapping.value.issue_width is not None and not accesses and scheme.slots != shipped.uops:
        yield {"uops": scheme.slots}, f"µops {shipped.uops} → {scheme.slots}"
    alone = scheme.evidence.measured
    cycles = scheme.predicted if alone is None else alone
    shipped_rate = shipped.throughput(units)
    if abs(cycles - shipped_rate) > THROUGHPUT_NOISE * max(1.0, cycles):
        resources = _limited_resources(shipped.resources, cycles, units)
        if resources != shipped.resources:
            basis = "by its µops" if alone is None else "measured"
            remark = f"inverse throughput {shipped_rate:.2f} → {cycles:.2f} ({basis})"
            yield {"resources": resources}, remark


def _limited_resources(
    resources: Sequence[tuple[str, int]], cycles: float, units: Mapping[str, int]
) -> tuple[tuple[str, int], ...]:
    """The resources with the busiest occupied for `cycles` per unit, and no other for longer."""
    if not resources:
        return ()
    busiest = max(resources, key=lambda resource: resource[1] / units.get(resource[0], 1))
    limited = []
    for name, before in resources:
        capacity = max(1, round(cycles * units.get(name, 1)))
        limited.append((name, capacity if (name, before) == busiest else min(before, capacity)))
    return tuple(limited)


_TESTS = "test/tools/llvm-mca"


def write_llvm_patch(core: ExportedCore, opcodes: Opcodes, folder: Path) -> str:
    """A patch in unified format, to be applied in LLVM's folder: `patch -p1 <FILE` or `git apply FILE`.

    Args:
        core: A core model whose core LLVM has a name for.
        opcodes: LLVM's names of the schemes.
        folder: LLVM's sources, `llvm-project/llvm`.

    Raises:
        ExchangeError: LLVM's files cannot be read, or do not describe the processor.
    """
    cpu = core.mapping.tools.llvm
    tools = target_of(core.mapping.isa).tools
    if tools is None or not tools.models or not cpu:
        raise ExchangeError(
            f"LLVM has no scheduling model for the core of {core.mapping.name!r}: a patch needs a core that "
            "LLVM's -mcpu has a name for, and an instruction set whose models can be read"
        )
    try:
        sources = sources_in(folder, tools.models)
        model = shipped_model(records_of(sources), cpu, tools.models)
    except TableGeneratorError as error:
        raise ExchangeError(str(error)) from error
    return patch_of(core, opcodes, model, sources)


def patch_of(core: ExportedCore, opcodes: Opcodes, model: ShippedModel, sources: LlvmSources) -> str:
    """Like `write_llvm_patch`, with a model that was read already."""
    file = file_of_model(sources.folder, sources.target, model.name)
    difference = model_difference(core, opcodes.by_text, model)
    patch = _Patch(core, model, file, difference)
    text = patch.text()
    head = [
        *map(patch_remark, core.mapping.provenance.lines()),
        *(f"{as_single_line(line)}\n" for line in _summary(difference, opcodes, model)),
    ]
    if text == file.text:
        return "".join([*head, "nothing differs beyond the noise: there is no patch\n"])
    diff = _diff(file.path, file.text, text)
    test = _diff(f"{_TESTS}/{sources.name}/pmweb-{core.mapping.tools.llvm}.s", "", patch.test())
    return "".join([*head, "\n", *diff, *test])


def _summary(difference: ModelDifference, opcodes: Opcodes, model: ShippedModel) -> Iterator[str]:
    """The remarks above a patch's first file, one per line."""
    yield f"scheduling model: {model.name}; opcodes as {opcodes.tool_version} calls them"
    yield (
        f"{len(difference.changes)} of {len(difference.compared)} opcodes differ beyond the noise; "
        f"{len(difference.left_alone)} could not be compared"
    )
    yield from (f"not compared: {opcode}: {reason}" for opcode, reason in difference.left_alone)


def _diff(path: str, before: str, after: str) -> Iterator[str]:
    old = f"a/{path}" if before else "/dev/null"
    for line in difflib.unified_diff(_lines(before), _lines(after), old, f"b/{path}"):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines as patch and git split them: at line feeds only, unlike `str.splitlines`."""
    return list(io.StringIO(text, newline="\n"))


class _Patch:
    """The text of a patch: the classes that differ, each with its measurements as comments."""

    def __init__(
        self, core: ExportedCore, model: ShippedModel, file: ModelFile, difference: ModelDifference
    ) -> None:
        self._core = core
        self._model = model
        self._file = file
        self._difference = difference
        self._places = places_of_overrides(file.text, model.overrides)

    def text(self) -> str:
        changed = self._changes_in_file()
        if not changed:
            return self._file.text
        replacements = {
            self._places[number]: self._without(number, changed)
            for number in sorted({change.group.override for change in changed} - {None})  # type: ignore[type-var]
            if number is not None
        }
        text = with_replacements(self._file.text, replacements)
        return text + ("" if text.endswith("\n") else "\n") + "".join(self._block(changed))

    def test(self) -> str:
        """A FileCheck test for llvm-mca with every changed opcode and its new costs."""
        cpu = self._core.mapping.tools.llvm
        tools = llvm_side(self._core.mapping.isa)
        triple = f"{tools.triple}-unknown-unknown"
        run = f"llvm-mca -mtriple={triple} -mcpu={cpu} -instruction-tables < %s | FileCheck %s"
        lines = [f"# RUN: {run}", ""]
        checks: list[str] = []
        changes = self._changes_in_file()
        codes = tools.instances(change.scheme.text for change in changes)
        for change in changes:
            code, written = codes.get(change.scheme.text), tools.gnu_scheme(change.scheme.text)
            if code is None:
                continue
            mnemonic = change.scheme.mnemonic if written is None else written.mnemonic
            lines += tools.gnu_lines(code)
            new = change.measured
            follows = "-NEXT" if checks else ""
            checks.append(f"# CHECK{follows}: {{{{^ *}}}}{new.uops} {new.latency} {{{{.*}}}}{mnemonic}")
        return "\n".join([*lines, "", *checks]) + "\n"

    def _changes_in_file(self) -> list[OpcodeChange]:
        """Changes whose definition stands in the file; those made by a multiclass cannot be split here."""
        return [
            change
            for change in self._difference.changes
            if change.group.override is None or change.group.override in self._places
        ]

    def _without(self, number: int, changes: Sequence[OpcodeChange]) -> str:
        """An `InstRW` with the opcodes that are not changed; "" where none is left."""
        override = self._model.overrides[number]
        dropped = {change.opcode for change in changes if change.group.override == number}
        if self._moves(number):
            return ""
        stay = [opcode for opcode in self._model.opcodes if override.covers(opcode) and opcode not in dropped]
        return listed_override(override.writes, stay) if stay else ""

    def _moves(self, number: int) -> bool:
        """Whether all measured opcodes of an `InstRW` get the same new costs: then all of it does."""
        compared = [item for item in self._difference.compared if item.group.override == number]
        return all(item.differs for item in compared) and len({item.measured for item in compared}) == 1

    def _block(self, changed: Sequence[OpcodeChange]) -> Iterator[str]:
        yield f"\n// Measured; each opcode with its evidence.\nlet SchedModel = {self._model.name} in {{\n"
        groups: dict[tuple[OpcodeClass, WriteCosts], list[OpcodeChange]] = {}
        for change in changed:
            groups.setdefault((change.group, change.measured), []).append(change)
        for number, ((group, costs), changes) in enumerate(groups.items()):
            yield from self._group(f"PmwebWrite{number}", group, costs, changes)
        yield f"}} // SchedModel = {self._model.name}\n"

    def _group(
        self, name: str, group: OpcodeClass, costs: WriteCosts, changes: Sequence[OpcodeChange]
    ) -> Iterator[str]:
        resources = ", ".join(resource for resource, _ in costs.resources)
        cycles = ", ".join(str(number) for _, number in costs.resources)
        remarks = dict.fromkeys(word for change in changes for word in change.remarks)
        yield "\n" + comment("//", f"{group.writes[0]}: {', '.join(remarks)}")
        yield f"def {name} : SchedWriteRes<[{resources}]> {{\n  let Latency = {costs.latency};\n"
        yield f"  let NumMicroOps = {costs.uops};\n  let {self._model.cycles_field} = [{cycles}];\n}}\n"
        used = ", ".join((name, *group.reads))
        if group.override is not None and self._moves(group.override):
            yield from (comment("//", f"{change.opcode}: {self._evidence(change)}") for change in changes)
            override = self._model.overrides[group.override]
            arguments = override.arguments
            quotes = "" if override.operator == "instrs" else '"'
            quoted = [f"{quotes}{argument}{quotes}" for argument in arguments]
            yield f"def : InstRW<[{used}], ({override.operator} {', '.join(quoted)})>;\n"
            return
        yield f"def : InstRW<[{used}], (instrs\n"
        for place, change in enumerate(changes, start=1):
            comma = "," if place < len(changes) else ""
            yield f"  {change.opcode}{comma} {comment('//', self._evidence(change))}"
        yield ")>;\n"

    def _evidence(self, change: OpcodeChange) -> str:
        return "; ".join((*change.remarks, self._core.line(change.scheme)))
