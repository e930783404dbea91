"""Capabilities and expected pace of a machine, by its agent's facts and its past runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from statistics import median

from django.db.models import Q, QuerySet

from inference.isa import llvm_mc
from inference.isa.bodies import obstacle_to_blocks, obstacle_to_chains
from inference.isa.microarchitecture import flags_of
from inference.isa.targets import code_target, target_of
from inference.models import InstructionScheme, Machine, Run
from inference.models.scheme_search import MEASURABLE
from inference.runs.errors import ConfigError
from inference.runs.request import read_row
from inference.storage.instruction_sets import core_of

ASSUMED_RATE = 50.0
"""Settled experiments per second of a machine without a measured rate."""


def obstacle_to_measuring(machine: Machine) -> str:
    """Why a machine cannot measure, with a remedy; "" if it can."""
    if machine.kind == Machine.Kind.SIMULATED:
        return ""
    if machine.kind != Machine.Kind.AGENT:
        return f"the machine {machine.name!r} cannot measure: choose one of its experiment sets"
    if not machine.facts:
        return f"the agent of {machine.name!r} has never connected: start it there first"
    if machine.state == Machine.State.UNFIT or machine.facts.get("unfit"):
        reason = machine.state_note or machine.facts.get("unfit") or "its agent says so"
        return f"the machine {machine.name!r} cannot measure: {reason}"
    bodies = target_of(machine.isa.name).bodies
    assembles = bodies is not None and bodies.needs_assembler and machine.executes_code
    if assembles and llvm_mc.program() is None:
        return (
            f"the machine {machine.name!r} needs llvm-mc to assemble code of {machine.isa.name}, and that is "
            "not installed where this site runs: install LLVM's tools there (Debian: apt install llvm)"
        )
    return ""


_NEED_TIMED_BLOCKS = ("front-end", "block")
"""Kinds of runs that measure by basic blocks alone."""


def unsupported_runs(machine: Machine) -> dict[str, str]:
    """{kind of run: why the machine's instruction set does not support it}; supported kinds are left out."""
    name, isa = machine.name, machine.isa.name
    obstacles = dict.fromkeys(_NEED_TIMED_BLOCKS, obstacle_to_blocks(name, isa))
    obstacles["know"] = obstacle_to_blocks(name, isa)
    obstacles["latencies"] = obstacle_to_chains(name, isa)
    return {kind: reason for kind, reason in obstacles.items() if reason}


def likely_ports(machine: Machine) -> int | None:
    """Number of ports of the machine's microarchitecture; None if that is unknown."""
    core = core_of(machine)
    return None if core is None else core.ports


def documented_r_max(machine: Machine) -> float | None:
    """Instructions per cycle that the vendor documents for the core's front end; None if unknown."""
    core = core_of(machine)
    return None if core is None else core.r_max


def documented_width(machine: Machine) -> int | None:
    """Largest number of ports that the vendor documents for a µop of the core; None if unknown."""
    core = core_of(machine)
    return None if core is None else core.widest


def estimated_seconds(experiments: int, machine: Machine) -> float:
    """Estimated seconds to measure a number of experiments; 0 for a simulated machine.

    The estimate uses the total time of the machine's last measuring runs, else the rate that its agent
    reports.
    """
    if machine.kind == Machine.Kind.SIMULATED:
        return 0.0
    pace = measuring_pace(machine)
    return experiments * pace.seconds if pace else experiments / (machine.rate or ASSUMED_RATE)


def executable_schemes(machine: Machine, additional: Q | None = None) -> QuerySet[InstructionScheme]:
    """Measurable schemes that the machine's CPU has; all measurable ones if its flags are unknown.

    Args:
        machine: A machine of any kind.
        additional: Condition for schemes that count as measurable, too.
    """
    rows = machine.isa.schemes.filter(MEASURABLE if additional is None else MEASURABLE | additional)
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


_RUN_WINDOW = 5  # finished runs whose pace predicts the next one's
_MIN_EXPERIMENTS = 50
"""Runs of fewer experiments spend most of their time on start and end."""


@dataclass(frozen=True)
class MeasuringPace:
    """`seconds` per experiment, including a run's start and end: the median of `runs` runs."""

    seconds: float
    runs: int


def measuring_pace(machine: Machine) -> MeasuringPace | None:
    """Pace of the machine's last measuring runs (one query); None without runs of enough experiments."""
    runs = Run.objects.filter(kind="measure", state=Run.State.DONE, config__machine=machine.pk)
    rows = runs.order_by("-id").values_list("busy_seconds", "result__experiments")[:_RUN_WINDOW]
    paces = [
        busy / experiments for busy, experiments in rows if busy and (experiments or 0) >= _MIN_EXPERIMENTS
    ]
    return MeasuringPace(median(paces), len(paces)) if paces else None


def read_machine(field: str, pk: object, isa: str = "") -> Machine:
    """The machine that a field of a description refers to.

    Args:
        field: Name of the field, with which the message begins; "" for the field `machine` itself.
        pk: Value of the field, of any type.
        isa: Name of the instruction set that the machine must have; "" for any.

    Raises:
        ConfigError: There is no such machine, it cannot measure now, or it has another instruction set.
    """
    machine = read_row(Machine, f"{field} machine".strip(), pk)
    if reason := obstacle_to_measuring(machine):
        raise ConfigError(f"{field or 'machine'}: {reason}")
    if isa not in ("", machine.isa.name):
        raise ConfigError(f"isa is {isa!r}, but the machine is for {machine.isa.name!r}")
    return machine


def read_block_machine(pk: object) -> Machine:
    """The machine with this id, able to measure basic blocks. Raises `ConfigError`."""
    machine = read_machine("", pk)
    if reason := obstacle_to_blocks(machine.name, machine.isa.name):
        raise ConfigError(reason)
    return machine
