"""Facts about this computer, as far as an ordinary user can read them."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

from inference.agent import cpuid
from inference.agent.core_types import core_types, description, fastest, parse_cpu_list
from inference.agent.reading import Json
from inference.agent.targets import FrameError, Target, native

_CPUS = Path("/sys/devices/system/cpu")


def facts(core: int | None) -> Json:
    """Facts about the computer as JSON; null where unknown. `core`: the measuring one.

    `unfit` in them: why this computer cannot measure; "" where it can.
    """
    processor = _processor(Path("/proc/cpuinfo"), core)
    flags = processor.get("flags", "").split()
    machine = platform.machine()
    target = _target(machine)
    emulated = target.emulator(machine, processor) if target else ""
    computer = {
        "host": socket.gethostname(),
        "system": platform.system(),
        "machine": machine,
        "isa": target.ISA if target else "",
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "cpu": " ".join(processor.get("model name", platform.processor() or "unknown").split()),
        "vendor": processor.get("vendor_id", ""),
        "family": _number(processor.get("cpu family")),
        "model": _number(processor.get("model")),
        "stepping": _number(processor.get("stepping")),
        "microcode": processor.get("microcode"),
        "flags": flags,
        "cpuid": cpuid.flags() if target and target.HAS_CPUID and platform.system() == "Linux" else None,
        "cores": os.cpu_count(),
        "core": core,
        "virtual": "hypervisor" in flags if flags else None,
        "hypervisor": _hypervisor() if "hypervisor" in flags else None,
        "governor": _text(_CPUS / f"cpu{core or 0}/cpufreq/scaling_governor"),
        "turbo": _turbo(),
        "smt": _truth(_text(_CPUS / "smt/active")),
        "siblings": _text(_CPUS / f"cpu{core or 0}/topology/thread_siblings_list"),
        "load": _load(),
        "blocks": True,  # an agent from before basic blocks does not say so
        "offsets": True,  # nor one from before loops that begin anywhere in a cache line
        "wide_blocks": True,  # nor one from before blocks had masks and vectors of 512 bits
        "x87_blocks": True,  # nor one from before blocks found registers of x87 and MMX filled
        "clear_masks": True,  # nor one whose blocks always find masks of ones
        "latency_bound": True,  # nor one that times chains only while nobody else uses the core
        "leads_back": True,  # nor one whose blocks find a single page of memory, however far they walk
        "unfit": unfit(platform.system(), machine, emulated),
        **description(core, core_types()),
    }
    return {**computer, **target.description(processor, emulated)} if target else computer


def identity() -> tuple[str, int, int]:
    """(vendor, family, model) of this processor; "" and 0 where unknown."""
    processor = _processor(Path("/proc/cpuinfo"))
    family, model = _number(processor.get("cpu family")), _number(processor.get("model"))
    return processor.get("vendor_id", ""), family or 0, model or 0


def _target(machine: str) -> Target | None:
    try:
        return native(machine)
    except FrameError:
        return None


def unfit(system: str, machine: str, emulated: str = "") -> str:
    """Why nothing can be measured on a system, "" where it can. `emulated`: the emulator of its processor."""
    if system != "Linux":
        return f"measuring needs Linux; this is {system}"
    try:
        native(machine)
    except FrameError as error:
        return str(error)
    if emulated:
        return f"{machine} is emulated here by {emulated}: no time would mean anything"
    return ""


def choose_core(requested: int | None = None) -> int | None:
    """The processor to measure on: the requested one, else an isolated one, else the last allowed one.

    On a hybrid processor, the last of the fastest type. None where processes cannot be bound to a processor.
    Raises `ValueError` for a processor that this process may not use.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    if requested is not None:
        if requested not in allowed:
            raise ValueError(f"processor {requested} is not among those to be used here: {sorted(allowed)}")
        return requested
    isolated = allowed & parse_cpu_list(_text(_CPUS / "isolated") or "")
    return max(isolated or fastest(allowed, core_types()))


def _processor(file: Path, core: int | None = None) -> dict[str, str]:
    """The entry of a processor in /proc/cpuinfo, else of the first; {} where the file cannot be read."""
    try:
        text = file.read_text()
    except OSError:
        return {}
    entries = [_entry(part) for part in text.split("\n\n")]
    return next((entry for entry in entries if entry.get("processor") == str(core)), entries[0])


def _entry(text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}


def _text(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _truth(text: str | None) -> bool | None:
    return None if text not in {"0", "1"} else text == "1"


def _turbo() -> bool | None:
    no_turbo = _truth(_text(_CPUS / "intel_pstate/no_turbo"))
    return _truth(_text(_CPUS / "cpufreq/boost")) if no_turbo is None else not no_turbo


def _hypervisor() -> str | None:
    """The hypervisor: Xen reports its name; for others, the vendor of the virtual computer."""
    return _text(Path("/sys/hypervisor/type")) or _text(Path("/sys/class/dmi/id/sys_vendor"))


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None
