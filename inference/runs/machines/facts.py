"""What can be said of a machine before anything is measured on it, by what it told and has done."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import Q, QuerySet

from inference.isa import llvm_mc
from inference.isa.bodies import obstacle_to_blocks
from inference.isa.cpu_flags import flags_of
from inference.isa.latency_chains import obstacle_to_chains
from inference.isa.targets import code_target, target_of
from inference.models import InstructionScheme, Machine, Run
from inference.models.scheme_search import MEASURABLE
from inference.runs.errors import ConfigError
from inference.runs.request import read_row
from inference.storage.instruction_sets import core_of

ASSUMED_RATE = 50.0
"""Settled experiments per second where a machine has not told its own yet."""


def obstacle_to_measuring(machine: Machine) -> str:
    """Why a machine cannot be asked for measurements, with what would help; "" where it can."""
    if machine.kind == Machine.Kind.SIMULATED:
        return ""
    if machine.kind != Machine.Kind.AGENT:
        return f"the machine {machine.name!r} cannot measure, choose its experiment sets"
    if not machine.facts:
        return f"the agent of {machine.name!r} has never connected: start it there first"
    if machine.state == Machine.State.UNFIT or machine.facts.get("unfit"):
        reason = machine.state_note or machine.facts.get("unfit") or "its agent says so"
        return f"the machine {machine.name!r} cannot measure: {reason}"
    bodies = target_of(machine.isa.name).bodies
    assembles = bodies is not None and bodies.needs_assembler and not machine.facts.get("simulated")
    if assembles and llvm_mc.program() is None:
        return (
            f"the machine {machine.name!r} is {machine.isa.name}, whose code llvm-mc makes, and that is not "
            "installed where this site runs: install LLVM's tools there (Debian: apt install llvm)"
        )
    return ""


_NEED_BLOCKS = ("know", "front-end", "block")
"""Kinds of runs that measure by basic blocks."""


def unsupported_runs(machine: Machine) -> dict[str, str]:
    """{kind of run: why there is none for the machine's instruction set}, of kinds that measure its core."""
    name, isa = machine.name, machine.isa.name
    found = dict.fromkeys(_NEED_BLOCKS, obstacle_to_blocks(name, isa))
    found["latencies"] = obstacle_to_chains(name, isa)
    return {kind: why for kind, why in found.items() if why}


def likely_ports(machine: Machine) -> int | None:
    """A number of ports that suits the machine's microarchitecture; None where that is not known."""
    known = core_of(machine)
    return None if known is None else known.ports


def documented_r_max(machine: Machine) -> float | None:
    """Instructions per cycle that its core lets through according to its vendor; None where not known."""
    known = core_of(machine)
    return None if known is None else known.r_max


def documented_width(machine: Machine) -> int | None:
    """The most ports that one µop of its core may use according to its vendor; None where not known."""
    known = core_of(machine)
    return None if known is None else known.widest


def seconds_for(experiments: int, machine: Machine) -> float:
    """How long the machine will take for so many experiments; a simulated one takes no time.

    By what its last measuring runs took in all, else by the rate that it tells.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        return 0.0
    past = past_pace(machine)
    return experiments * past.seconds if past else experiments / (machine.rate or ASSUMED_RATE)


def executable_schemes(machine: Machine, beyond: Q | None = None) -> QuerySet[InstructionScheme]:
    """The schemes that a machine's CPU has, as far as its flags tell, and that can be measured.

    `beyond`: others that can be measured as well.
    """
    rows = machine.isa.schemes.filter(MEASURABLE if beyond is None else MEASURABLE | beyond)
    flags = flags_of(machine.facts)
    if flags is None:
        return rows
    flag_of = code_target(machine.isa.name).schemes.flag
    extensions = rows.order_by().values_list("extension", flat=True).distinct()
    return rows.filter(extension__in=[name for name in extensions if not _lacks(name, flags, flag_of)])


def _lacks(extension: str, flags: Collection[str], flag_of: Callable[[str], str]) -> bool:
    """Whether a CPU with these flags lacks one of the features joined in `extension`."""
    needed = filter(None, map(flag_of, extension.split("+")))
    return any(name not in flags for name in needed)


_NEWEST = 5
_ENOUGH = 50
"""Experiments of a run, below which its beginning and end are most of its time."""


@dataclass(frozen=True)
class PastPace:
    """`seconds` that an experiment took, of a run from beginning to end: the median of so many `runs`."""

    seconds: float
    runs: int


def past_pace(machine: Machine) -> PastPace | None:
    """Of the machine's last measuring runs; None where there are none that say anything (one query)."""
    ended = past_runs(machine, "measure").values_list("busy_seconds", "result__experiments")
    paces = [busy / experiments for busy, experiments in ended if busy and (experiments or 0) >= _ENOUGH]
    return PastPace(median(paces), len(paces)) if paces else None


def past_runs(machine: Machine, kind: str, **config: Any) -> QuerySet[Run]:
    """The last runs of a kind that the machine did to the end and in one attempt, newest first."""
    named = {f"config__{name}": value for name, value in config.items()}
    if kind == "infer":
        named["config__source__machine"] = machine.pk
    else:
        named["config__machine"] = machine.pk
    done = Run.objects.filter(kind=kind, state=Run.State.DONE, **named)
    return done.order_by("-id")[:_NEWEST]


def past_share(machine: Machine, kind: str, told: str, **config: Any) -> float | None:
    """Seconds of work for each of what the result counts under `told`, the median of the last runs."""
    rows = past_runs(machine, kind, **config).values_list("busy_seconds", f"result__{told}")
    shares = [busy / number for busy, number in rows if busy and number]
    return median(shares) if shares else None


def read_machine(field: str, pk: object, isa: str = "") -> Machine:
    """A machine that can be asked for measurements, of the instruction set `isa` ("": of any).

    Raises `ConfigError`.
    """
    machine = read_row(Machine, f"{field} machine".strip(), pk)
    if reason := obstacle_to_measuring(machine):
        raise ConfigError(f"{field or 'machine'}: {reason}")
    if isa not in ("", machine.isa.name):
        raise ConfigError(f"isa is {isa!r}, but the machine is for {machine.isa.name!r}")
    return machine


def read_block_machine(pk: object) -> Machine:
    """A machine that can be asked for measurements of basic blocks. Raises `ConfigError`."""
    machine = read_machine("", pk)
    if reason := obstacle_to_blocks(machine.name, machine.isa.name):
        raise ConfigError(reason)
    return machine
