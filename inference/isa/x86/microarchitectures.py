"""Microarchitectures by what CPUID says: how many ports to assume, and the documented width of the front.

Sources: Intel's and AMD's optimisation guides and Agner Fog's guide to microarchitectures. Models that share
a number between kinds of cores (Alder Lake's) have no width: a process cannot tell which kind it will run on.
"""

from __future__ import annotations

from collections.abc import Mapping

from inference.isa.microarchitecture import Microarchitecture
from inference.isa.tables import table_beside

_TABLES = table_beside(__file__)
_CORES = {
    name: Microarchitecture(name, **{"r_max": None, **facts}) for name, facts in _TABLES["cores"].items()
}
_PERFORMANCE_CORES: Mapping[str, str] = _TABLES["performance_cores"]


def microarchitecture(vendor: str, family: int, model: int, core_type: str = "") -> Microarchitecture | None:
    """The core with these numbers, as /proc/cpuinfo has them; None for one that is not in the table.

    `core_type`: its kind, where the processor is hybrid (`inference.agent.core_types`).
    """
    for row in _TABLES["models"]:
        if (vendor, family) == (row["vendor"], row["family"]) and any(
            first <= model <= last for first, last in row["numbers"]
        ):
            name: str = row["core"]
            return _CORES[_PERFORMANCE_CORES.get(name, name) if core_type == "performance" else name]
    return None
