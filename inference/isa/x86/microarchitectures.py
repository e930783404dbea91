"""Microarchitectures by CPUID: the number of ports to assume, and the documented front-end width.

Sources: Intel's and AMD's optimisation guides and Agner Fog's guide to microarchitectures. Models with
several kinds of cores (Alder Lake's) have no width: a process does not know which kind will execute it.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.microarchitecture import Microarchitecture
from inference.isa.tables import table_of_module

_TABLES = table_of_module(__file__)
_CORES = {
    name: Microarchitecture(name, **{"r_max": None, **facts}) for name, facts in _TABLES["cores"].items()
}
_PERFORMANCE_CORES: Mapping[str, str] = _TABLES["performance_cores"]


def microarchitecture(vendor: str, family: int, model: int, core_type: str = "") -> Microarchitecture | None:
    """The core of a processor; None for an unknown one.

    Args:
        vendor: In /proc/cpuinfo, as the two numbers are.
        family: Its number.
        model: Its number.
        core_type: Kind of core where the processor is hybrid (`inference.agent.core_types`), "" for others.
    """
    for row in _TABLES["models"]:
        if (vendor, family) == (row["vendor"], row["family"]) and any(
            first <= model <= last for first, last in row["numbers"]
        ):
            name: str = row["core"]
            return _CORES[_PERFORMANCE_CORES.get(name, name) if core_type == "performance" else name]
    return None
