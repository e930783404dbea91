"""Performance counters, where the kernel grants them to ordinary users (perf_event_open).

They are opened before the measuring process is confined, and enabled for single executions only. Few events
fit into the hardware at a time, and counts that the kernel multiplexes are inexact, so each group of a few
events has its own executions of a long and a short loop body: in the difference, everything but the body
cancels.

Sources of the event numbers: Intel's and AMD's manuals for performance monitoring, by their names
UOPS_EXECUTED.THREAD, UOPS_DISPATCHED_PORT.PORT_n, and PMCx0C1 "Retired Uops" (macro-ops from Zen on).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import statistics
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from inference.sandbox.system_calls import number_of

UOPS = "uops"
CYCLES = "cycles"
INSTRUCTIONS = "instructions"
PORT = "port "

ENABLE, DISABLE = 0x2400, 0x2401
"""The ioctl requests that a measuring process makes."""

_HARDWARE, _RAW, _SOFTWARE = 0, 4, 1  # types of perf_event_attr (PERF_TYPE_…)
_GROUP = 3  # events at a time, beside which the kernel may keep one for itself
_REPETITIONS = 3  # of each count, of which the median counts
_TRUSTED = 0.02  # largest deviation from a known count, in events per instruction
_TOTAL_TIMES = 0b11  # read_format: also the nanoseconds enabled and the nanoseconds counted
_DISABLED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6  # flags of perf_event_attr
_ATTRIBUTES = struct.Struct("<IIQQQQQ16x")  # type size config period sampled read-format flags
_READING = struct.Struct("<QQQ")

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class CounterEvent:
    """An event.

    Attributes:
        kind, config: `type` and `config` of perf_event_attr.
    """

    name: str
    kind: int
    config: int


class CountersError(Exception):
    """Counters are not available; the message has the reason."""


class EventGroup(Protocol):
    names: Sequence[str]

    def count(self, execution: Callable[[], object]) -> Sequence[int]:
        """How often each event occurred during the execution. Raises `CountersError`."""
        ...


_GENERIC = (CounterEvent(CYCLES, _HARDWARE, 0), CounterEvent(INSTRUCTIONS, _HARDWARE, 1))
TASK_CLOCK = CounterEvent("nanoseconds", _SOFTWARE, 1)
"""Available on every kernel: used to test whether counting works."""

_INTEL_UOPS = CounterEvent(UOPS, _RAW, 0x01B1)  # raw events: unit mask, then number of the event
_HASWELL_UOPS = CounterEvent(UOPS, _RAW, 0x02B1)
_AMD_UOPS = CounterEvent(UOPS, _RAW, 0x00C1)
_SIX_PORTS = {"port 0": 0x01, "port 1": 0x02, "port 2": 0x0C, "port 3": 0x30, "port 4": 0x40, "port 5": 0x80}
_EIGHT_PORTS = {f"port {port}": 1 << port for port in range(8)}

_SANDY_BRIDGE = frozenset({0x2A, 0x2D, 0x3A, 0x3E})  # models, Ivy Bridge included
_HASWELL = frozenset({0x3C, 0x3F, 0x45, 0x46})
_BROADWELL_TO_COMET_LAKE = frozenset({0x3D, 0x47, 0x4F, 0x56, 0x4E, 0x5E, 0x55, 0x8E, 0x9E, 0xA5, 0xA6})


def events_of(vendor: str, family: int, model: int) -> tuple[CounterEvent, ...]:
    """The events of a processor.

    Single ports can be counted from Sandy Bridge to Comet Lake only; later cores count several ports
    together. AMD's cores count macro-ops from Zen on, and no ports.
    """
    if vendor == "GenuineIntel" and family == 6:
        uops = _HASWELL_UOPS if model in _HASWELL else _INTEL_UOPS
        ports: Mapping[str, int] = {}
        if model in _SANDY_BRIDGE:
            ports = _SIX_PORTS
        elif model in _HASWELL | _BROADWELL_TO_COMET_LAKE:
            ports = _EIGHT_PORTS
        return (
            *_GENERIC,
            uops,
            *(CounterEvent(name, _RAW, mask << 8 | 0xA1) for name, mask in ports.items()),
        )
    if vendor == "AuthenticAMD" and family >= 0x17:
        return (*_GENERIC, _AMD_UOPS)
    return _GENERIC


class KernelGroup:
    """Events counted by the kernel for this process in user mode only."""

    def __init__(self, events: Sequence[CounterEvent]) -> None:
        """Raises `CountersError`."""
        self.names: Sequence[str] = [event.name for event in events]
        self._files: list[int] = []
        try:
            for event in events:
                self._files.append(_open(event))
        except CountersError:
            self.close()
            raise

    def close(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []

    def count(self, execution: Callable[[], object]) -> Sequence[int]:
        before = [_read(file) for file in self._files]
        for file in self._files:
            fcntl.ioctl(file, ENABLE, 0)
        execution()
        for file in self._files:
            fcntl.ioctl(file, DISABLE, 0)
        after = [_read(file) for file in self._files]
        counted = []
        for earlier, later in zip(before, after, strict=True):
            count, enabled, running = (new - old for old, new in zip(earlier, later, strict=True))
            if running < enabled:
                raise CountersError("another process uses the counters of this processor at the same time")
            counted.append(count)
        return counted


class ProcessorCounters:
    """All groups of a processor's events; `names`: of the events."""

    def __init__(self, groups: Sequence[EventGroup]) -> None:
        self._groups = groups

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for group in self._groups for name in group.names)

    def difference(self, long: Callable[[], object], short: Callable[[], object]) -> dict[str, float]:
        """{event: how much more often it occurs in `long` than in `short`}, medians of several executions.

        Empty while another process uses the counters.
        """
        counted: dict[str, float] = {}
        for group in self._groups:
            samples: list[list[float]] = []
            for _ in range(_REPETITIONS):
                try:
                    pair = group.count(long), group.count(short)
                except CountersError:
                    return {}
                samples.append([more - less for more, less in zip(*pair, strict=True)])
            for name, values in zip(group.names, zip(*samples, strict=True), strict=True):
                counted[name] = max(0.0, statistics.median(values))
        return counted


def open_counters(vendor: str, family: int, model: int) -> ProcessorCounters:
    """The available counters. Raises `CountersError` where not even cycles can be counted."""
    events = events_of(vendor, family, model)
    groups: list[EventGroup] = []
    for start in range(0, len(events), _GROUP):
        try:
            groups.append(KernelGroup(events[start : start + _GROUP]))
        except CountersError:
            if not groups:
                raise
    return ProcessorCounters(groups)


def distrust_reason(counted: Mapping[str, float]) -> str:
    """Why counters with these counts of a register addition cannot be trusted; "" where they can."""
    for name in (INSTRUCTIONS, UOPS):
        value = counted.get(name, 1.0)
        if abs(value - 1) > _TRUSTED:
            return f"the counter of {name} says {value:.2f} of an addition, which is one"
    return ""


def counting_level(names: Sequence[str]) -> str:
    """What is counted, for the facts of a machine: "ports", "uops", "instructions" or "none"."""
    if any(name.startswith(PORT) for name in names):
        return "ports"
    if UOPS in names:
        return UOPS
    return "instructions" if INSTRUCTIONS in names else "none"


def _open(event: CounterEvent) -> int:
    """Open an event of this process on any processor; returns the file to read it from.

    Raises:
        CountersError: The kernel refuses, with the likely reason.
    """
    call = number_of("perf_event_open")
    if call is None or not hasattr(_libc, "syscall"):
        raise CountersError(f"no counters are known for {platform.system()} on {platform.machine()}")
    flags = _DISABLED | _NO_KERNEL | _NO_HYPERVISOR
    attributes = _ATTRIBUTES.pack(event.kind, _ATTRIBUTES.size, event.config, 0, 0, _TOTAL_TIMES, flags)
    this_process, any_processor, no_leader, close_on_exec = 0, -1, -1, 8
    file = _libc.syscall(
        ctypes.c_long(call),
        ctypes.c_char_p(attributes),
        this_process,
        any_processor,
        no_leader,
        ctypes.c_ulong(close_on_exec),
    )
    if file < 0:
        raise CountersError(_REASONS.get(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
    return int(file)


_RESTRICTED = "the kernel keeps them from ordinary users (sysctl kernel.perf_event_paranoid=2 allows them)"
_REASONS = {
    errno.ENOENT: "this computer offers none of the processor's counters, as is usual for virtual ones",
    errno.EACCES: _RESTRICTED,
    errno.EPERM: _RESTRICTED,
    errno.ENOSYS: "this kernel has none",
}


def _read(file: int) -> tuple[int, int, int]:
    count, enabled, running = _READING.unpack(os.read(file, _READING.size))
    return count, enabled, running
