"""A processor's scheduling model as a core model, by `llvm-mca -instruction-tables`.

The tables have an instruction's latency, its µops, and how much of each unit it uses: µops that any of
several units can execute count in equal parts for each. A use is shared out
among groups of units, of which as much as possible goes to the widest. A group is known where an instruction
uses all of its units alike and for one cycle in all.

The tables have one latency per instruction. A register that an instruction reads and writes may be needed
later than its other sources, such as an accumulator: what repeating it takes is asked of llvm-mca as well.
LLVM does not forward from stores, and knows no front end. Of cores that issue in order, see `order_tables`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from inference.containment import CannotStartError, Limits, run
from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import CoreModel, CoreScheduler, MemoryTimes, OperandLatencies
from inference.core.mapping import PortMapping, Uops, uops_of
from inference.core.simulation.program import Binding, SchedulerPolicy
from inference.isa.bodies import chain_maker
from inference.isa.llvm_schemes import llvm_side
from inference.isa.scheme import Scheme, is_in_bodies
from inference.isa.targets import target_of
from inference.predictors.llvm.mca import FIRST_SKIPPING_RELEASE, LlvmMca
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.llvm.order_tables import issues_in_order, with_order
from inference.predictors.llvm.releases import Release
from inference.predictors.llvm.text import texts_of
from inference.predictors.protocol import Answer, PredictorError

_LIMITS = Limits(seconds=60.0, output=256)
_REGIONS = 400  # instructions per call
_PARTS = 2520  # of a cycle: all shares of up to ten units are whole numbers of them
_WIDTH = re.compile(rb"^Dispatch Width: +(\d+)", re.MULTILINE)
_WRITTEN_BASE = "base"


@dataclass(frozen=True, slots=True)
class TableRow:
    """An instruction in the tables. `usage`: {unit: its use in parts of a cycle}."""

    latency: int
    uops: int
    usage: Mapping[int, int]


@dataclass(frozen=True)
class ModelledCore:
    """A processor as LLVM models it. `skipped`: schemes that the release or its model lacks, with reasons."""

    isa: str
    name: str
    model: CoreModel
    skipped: Mapping[str, str]


def modelled_core(settings: McaSettings) -> ModelledCore:
    """The core of a scheduling model, for all schemes that can be assembled.

    Raises:
        PredictorError: The release is not installed, or does not know the processor.
    """
    mca = LlvmMca(settings)
    try:
        return _Tables(mca, settings.cpu).core()
    except CannotStartError as error:
        raise PredictorError(str(error)) from error
    finally:
        mca.close()


class _Tables:
    def __init__(self, mca: LlvmMca, cpu: str) -> None:
        self._mca = mca
        self._cpu = cpu
        self._side = llvm_side(mca.isa)
        self._target = target_of(mca.isa)
        self._command = (mca.release.mca, f"-mtriple={self._side.triple}", f"-mcpu={cpu}")

    def core(self) -> ModelledCore:
        bodies = {scheme.text: scheme for scheme in self._target.schemes.schemes() if is_in_bodies(scheme)}
        schemes = {text: scheme for text, scheme in bodies.items() if not scheme.mode}
        codes = self._side.instances(schemes)
        skipped = dict.fromkeys(bodies.keys() - schemes.keys(), "the tables have the slowest mode alone")
        lines: dict[str, str] = {}
        texts = texts_of(self._mca.release.mc, list(codes.values()), _LIMITS, self._side)
        for scheme, text in zip(codes, texts, strict=True):
            if isinstance(text, Answer):
                skipped[scheme] = text.detail
            else:
                lines[scheme] = text[0]
        rows, units = self._rows(lines)
        skipped |= dict.fromkeys(lines.keys() - rows.keys(), "its model of this processor lacks it")
        width = self._width()
        usage = port_usages(rows, units)
        mapping = PortMapping(
            units,
            usage,
            issue_width=float(width),
            slots={scheme: row.uops for scheme, row in rows.items() if row.uops > 1},
        )
        chained = self._chain_cycles({scheme: codes[scheme] for scheme in rows}, schemes)
        latencies = {
            scheme: self._latencies(schemes[scheme], row.latency, chained.get(scheme))
            for scheme, row in rows.items()
        }
        moves = frozenset(
            scheme for scheme, row in rows.items() if not row.latency and not row.usage and latencies[scheme]
        )
        plain_load = rows.get(self._target.plain_load)
        load = 1.0 if plain_load is None else float(plain_load.latency)
        model = CoreModel(
            mapping,
            latencies,
            moves=moves,
            memory=MemoryTimes(usual=load, load=load),
            front_end=FrontEndLimits(
                slots=float(width),
                straight_instructions=float(width),
                nops=float(width),
                taken=1.0,
                fused=frozenset(),  # LLVM's models fuse nothing, so a loop's jump takes a slot
            ),
            scheduler=CoreScheduler(
                SchedulerPolicy(Binding.AT_ISSUE, queued=160, window=512), width, (1 << len(units)) - 1
            ),
            sources={"all": f"{self._cpu} of llvm-mca {self._mca.release.version}"},
        )
        if issues_in_order(self._mca):
            table = {scheme: row.latency for scheme, row in rows.items()}
            model = with_order(model, self._mca, {scheme: codes[scheme] for scheme in rows}, table)
        return ModelledCore(self._mca.isa, self._cpu, model, skipped)

    def _width(self) -> int:
        outcome = run([*self._command, "-iterations=1"], f"{self._side.probe}\n".encode(), limits=_LIMITS)
        match = _WIDTH.search(outcome.stdout)
        if match is None:
            raise PredictorError(
                f"llvm-mca tells no dispatch width of {self._cpu}: {outcome.last_error_line}"
            )
        return int(match[1])

    def _rows(self, lines: Mapping[str, str]) -> tuple[dict[str, TableRow], tuple[str, ...]]:
        """{scheme: its row} of the schemes that the model has, and the names of its units."""
        rows: dict[str, TableRow] = {}
        units: tuple[str, ...] = ()
        names = list(lines)
        for begin in range(0, len(names), _REGIONS):
            part = names[begin : begin + _REGIONS]
            part_rows, units = self._rows_of_call({name: lines[name] for name in part})
            rows |= part_rows
        return rows, units

    def _rows_of_call(self, lines: Mapping[str, str]) -> tuple[dict[str, TableRow], tuple[str, ...]]:
        names = list(lines)
        regions = (
            f"# LLVM-MCA-BEGIN {number}\n{lines[name]}\n# LLVM-MCA-END" for number, name in enumerate(names)
        )
        command = [*self._command, "-instruction-tables", "-json", *_tolerant(self._mca.release)]
        outcome = run(command, ("\n".join(regions) + "\n").encode(), limits=_LIMITS)
        try:
            document = json.loads(outcome.stdout)
            units = tuple(map(_unit_name, document["TargetInfo"]["Resources"]))
            return {
                names[int(region["Name"])]: _row(region)
                for region in document["CodeRegions"]
                if len(region["Instructions"]) == 1
            }, units
        except (ValueError, KeyError, IndexError, TypeError) as error:
            if len(names) > 1:  # older releases end at an instruction that their model lacks
                half = len(names) // 2
                parts = [{name: lines[name] for name in part} for part in (names[:half], names[half:])]
                (first, units), (second, second_units) = map(self._rows_of_call, parts)
                return first | second, units or second_units
            if outcome.status == 0:
                raise PredictorError(f"the tables of {self._cpu} cannot be read: {error}") from error
            return {}, ()

    def _chain_cycles(self, codes: Mapping[str, bytes], schemes: Mapping[str, Scheme]) -> dict[str, float]:
        """Cycles from execution to execution of the schemes with one register that is read and written."""
        updating = [text for text in codes if len(_updated_registers(schemes[text])) == 1]
        answers = self._mca.predict([codes[text] for text in updating])
        return {
            text: answer.cycles
            for text, answer in zip(updating, answers, strict=True)
            if answer.cycles is not None
        }

    def _latencies(self, scheme: Scheme, latency: int, chained: float | None) -> OperandLatencies:
        links = chain_maker(self._mca.isa).links_of(scheme.text)
        updated = _updated_registers(scheme)
        latencies: dict[tuple[str, str], float | None] = {}
        for link in links:
            if link.source.endswith("data") or link.destination.endswith("data"):
                continue
            cycles = float(max(latency, 1))
            if link.destination == _WRITTEN_BASE:
                cycles = 1.0
            elif chained is not None and link.source == link.destination and [link.source] == updated:
                cycles = min(cycles, float(max(round(chained), 1)))
            latencies[link.source, link.destination] = cycles
        return latencies


def _tolerant(release: Release) -> list[str]:
    """The option that skips instructions which the model lacks; releases without it end there."""
    is_new = int(release.number) >= FIRST_SKIPPING_RELEASE
    return ["-skip-unsupported-instructions=any"] if is_new else []


def _updated_registers(scheme: Scheme) -> list[str]:
    """The registers that a scheme reads and writes, as in `ChainLink`."""
    explicit = [
        str(place)
        for place, row in enumerate(scheme.operands, 1)
        if not row.implicit and row.access == "RW" and row.kind == "register"
    ]
    return explicit + [row.name for row in scheme.operands if row.implicit and row.name == _WRITTEN_BASE]


def _unit_name(resource: str) -> str:
    """The name of a unit, with the number of one of several alike, which llvm-mca writes as a byte."""
    return f"{resource[:-1]}{ord(resource[-1])}" if resource[-1:] < " " else resource


def _row(region: Mapping[str, object]) -> TableRow:
    info = region["InstructionInfoView"]["InstructionList"][0]  # type: ignore[index]
    usage: dict[int, int] = {}
    for part in region["ResourcePressureView"]["ResourcePressureInfo"]:  # type: ignore[index]
        if part["InstructionIndex"] == 0:
            usage[part["ResourceIndex"]] = round(part["ResourceUsage"] * _PARTS)
    return TableRow(int(info["Latency"]), int(info["NumMicroOpcodes"]), usage)


def port_usages(rows: Mapping[str, TableRow], units: Sequence[str]) -> dict[str, Uops]:
    """The µops of each scheme on groups of units (bit masks); units that differ in a number are alike."""
    alike: dict[str, int] = {}
    for unit, name in enumerate(units):
        kind = name.rpartition(".")[0]
        alike[kind] = alike.get(kind, 0) | 1 << unit
    groups = {mask for kind, mask in alike.items() if kind} | {
        mask
        for row in rows.values()
        if len({*row.usage.values()}) == 1 and sum(row.usage.values()) == _PARTS
        for mask in [_mask(row.usage)]
    }
    ordered = sorted(groups, key=lambda mask: (-mask.bit_count(), mask))
    return {scheme: uops_of(_shared_out(row.usage, ordered).items()) for scheme, row in rows.items()}


def _mask(units: Iterable[int]) -> int:
    return sum(1 << unit for unit in units)


def _shared_out(usage: Mapping[int, int], groups: Sequence[int]) -> dict[int, int]:
    """{group: µops} that use units as much; the first groups have as many µops as possible.

    Where no groups add up to it, each unit for as long as it is used, in whole cycles.
    """
    used = {unit: parts for unit, parts in usage.items() if parts}
    fitting = [mask for mask in groups if not mask & ~_mask(used)]
    shared = _shared_exactly(used, fitting)
    return (
        {1 << unit: max(1, round(parts / _PARTS)) for unit, parts in used.items()}
        if shared is None
        else shared
    )


def _shared_exactly(usage: Mapping[int, int], groups: Sequence[int]) -> dict[int, int] | None:
    """`_shared_out` with whole µops of groups and single units, None where that is impossible."""
    for place, mask in enumerate(groups):
        units = [unit for unit in usage if mask >> unit & 1]
        share = _PARTS // mask.bit_count()
        for count in range(min(usage[unit] for unit in units) // share, 0, -1):
            remaining = {unit: parts - count * share * (unit in units) for unit, parts in usage.items()}
            remaining_uops = _shared_exactly(remaining, groups[place + 1 :])
            if remaining_uops is not None:
                return {mask: count, **remaining_uops}
    if any(parts % _PARTS for parts in usage.values()):
        return None
    return {1 << unit: parts // _PARTS for unit, parts in usage.items() if parts}
