"""Microarchitectures by what CPUID says: how many ports to assume, and the documented width of the front.

Sources: Intel's and AMD's optimisation guides and Agner Fog's guide to microarchitectures. Models that share
a number between kinds of cores (Alder Lake's) have no width: a process cannot tell which kind it will run on.
"""

from __future__ import annotations

from collections.abc import Iterable

from inference.isa.microarchitecture import Microarchitecture

_INTEL_GUIDE = "Intel 64 and IA-32 Architectures Optimization Reference Manual"
_FOG = "Agner Fog, The microarchitecture of Intel, AMD and VIA CPUs"


def _amd_guide(family: str) -> str:
    return f"AMD, Software Optimization Guide for the AMD Family {family} Processors"


_SANDY_BRIDGE = Microarchitecture("Sandy Bridge", 6, 4.0, _INTEL_GUIDE, widest=3)
_IVY_BRIDGE = Microarchitecture("Ivy Bridge", 6, 4.0, _INTEL_GUIDE, widest=3)
_HASWELL = Microarchitecture("Haswell", 8, 4.0, _INTEL_GUIDE, widest=4)
_BROADWELL = Microarchitecture("Broadwell", 8, 4.0, _INTEL_GUIDE, widest=4)
_SKYLAKE = Microarchitecture("Skylake", 8, 4.0, _INTEL_GUIDE, widest=4)
_SKYLAKE_SP = Microarchitecture("Skylake-SP", 8, 4.0, _INTEL_GUIDE, widest=4)
_ICE_LAKE = Microarchitecture("Ice Lake", 10, 5.0, _INTEL_GUIDE, widest=4)
_ICE_LAKE_SP = Microarchitecture("Ice Lake-SP", 10, 5.0, _INTEL_GUIDE, widest=4)
_TIGER_LAKE = Microarchitecture("Tiger Lake", 10, 5.0, _INTEL_GUIDE, widest=4)
_ROCKET_LAKE = Microarchitecture("Rocket Lake", 10, 5.0, _INTEL_GUIDE, widest=4)
_ALDER_LAKE = Microarchitecture("Alder Lake (Golden Cove or Gracemont)", 12, None, _INTEL_GUIDE)
_RAPTOR_LAKE = Microarchitecture("Raptor Lake (Raptor Cove or Gracemont)", 12, None, _INTEL_GUIDE)
_SAPPHIRE_RAPIDS = Microarchitecture("Golden Cove", 12, 6.0, _INTEL_GUIDE, widest=5)
_EMERALD_RAPIDS = Microarchitecture("Raptor Cove", 12, 6.0, _INTEL_GUIDE, widest=5)
_ZEN = Microarchitecture("Zen", 10, 5.0, _FOG, widest=4)
_ZEN_PLUS = Microarchitecture("Zen+", 10, 5.0, _FOG, widest=4)
_ZEN2 = Microarchitecture("Zen 2", 11, None, _amd_guide("17h"), widest=4)
_ZEN3 = Microarchitecture("Zen 3", 13, 6.0, _amd_guide("19h"), widest=4)
_ZEN4 = Microarchitecture("Zen 4", 13, 6.0, _amd_guide("19h"), widest=4)
_ZEN5 = Microarchitecture("Zen 5", 13, 8.0, _amd_guide("1Ah"))

_TABLE: tuple[tuple[str, int, Iterable[int], Microarchitecture], ...] = (
    ("GenuineIntel", 6, (0x2A, 0x2D), _SANDY_BRIDGE),
    ("GenuineIntel", 6, (0x3A, 0x3E), _IVY_BRIDGE),
    ("GenuineIntel", 6, (0x3C, 0x3F, 0x45, 0x46), _HASWELL),
    ("GenuineIntel", 6, (0x3D, 0x47, 0x4F, 0x56), _BROADWELL),
    ("GenuineIntel", 6, (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6), _SKYLAKE),  # also Kaby, Coffee, Comet Lake
    ("GenuineIntel", 6, (0x55,), _SKYLAKE_SP),  # also Cascade and Cooper Lake
    ("GenuineIntel", 6, (0x7D, 0x7E), _ICE_LAKE),
    ("GenuineIntel", 6, (0x6A, 0x6C), _ICE_LAKE_SP),
    ("GenuineIntel", 6, (0x8C, 0x8D), _TIGER_LAKE),
    ("GenuineIntel", 6, (0xA7,), _ROCKET_LAKE),
    ("GenuineIntel", 6, (0x97, 0x9A), _ALDER_LAKE),
    ("GenuineIntel", 6, (0xB7, 0xBA, 0xBF), _RAPTOR_LAKE),
    ("GenuineIntel", 6, (0x8F,), _SAPPHIRE_RAPIDS),
    ("GenuineIntel", 6, (0xCF,), _EMERALD_RAPIDS),
    ("AuthenticAMD", 0x17, (0x08, 0x18), _ZEN_PLUS),
    ("AuthenticAMD", 0x17, range(0x30), _ZEN),
    ("HygonGenuine", 0x18, range(0x10), _ZEN),
    ("AuthenticAMD", 0x17, range(0x30, 0x100), _ZEN2),
    ("AuthenticAMD", 0x19, (*range(0x10), *range(0x20, 0x60)), _ZEN3),
    ("AuthenticAMD", 0x19, (*range(0x10, 0x20), *range(0x60, 0xB0)), _ZEN4),
    ("AuthenticAMD", 0x1A, (*range(0x30), *range(0x40, 0x50), *range(0x60, 0x80)), _ZEN5),
)
"""The first row that fits decides."""


_PERFORMANCE_CORES = {_ALDER_LAKE: _SAPPHIRE_RAPIDS, _RAPTOR_LAKE: _EMERALD_RAPIDS}
"""What the fast cores of hybrid models are, where the kind of core is known."""


def microarchitecture(vendor: str, family: int, model: int, core_type: str = "") -> Microarchitecture | None:
    """The core with these numbers, as /proc/cpuinfo has them; None for one that is not in the table.

    `core_type`: its kind, where the processor is hybrid (`inference.agent.core_types`).
    """
    for known_vendor, known_family, models, core in _TABLE:
        if (vendor, family) == (known_vendor, known_family) and model in models:
            return _PERFORMANCE_CORES.get(core, core) if core_type == "performance" else core
    return None
