"""A core as one value: ports, slots, latencies, idioms, memory and front end, and the bounds that follow.

No core is quicker than any of its bounds; the prediction for a block is the largest, with its name.

| module | |
|---|---|
| `model` | the value, with what each part rests on |
| `cycles` | the largest ratio of latency to iterations in a dependence graph |
| `dependences` | the dependence graph of a block |
| `last_writes`, `renaming` | how loads get what the block stored |
| `stores`, `loads` | what the cache takes per cycle |
| `simulated_program`, `scheduler` | a block on the core's simulated scheduler |
| `prediction` | the prediction as a value, and what it is asked with |
| `port_bounds`, `front_end_bound` | bounds of ports, slots and width; of the front end |
| `shared_slots` | instructions that take no slot or port of their own |
| `bounds` | the other bounds, and all of them together |
| `blocks` | blocks of x86-64, predicted under assumptions |
| `scheduler_experiments`, `dependent_blocks`, `scheduler_inference` | which scheduler a core has, by what |
| `memory_reading` | what measured loads and stores say of a core's memory |
| `chained` | latencies in one number |
| `overview` | which kinds of instructions each port runs |
| `nearest` | what is not described, taken from the nearest scheme |
"""

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.chained import LatencyEnd, chained_latency, known_latencies
from inference.core.core_model.cycles import CriticalCycle, Edge, critical_cycle
from inference.core.core_model.model import (
    BypassTimes,
    CoreModel,
    CoreScheduler,
    FrontEndLimits,
    LatencyBases,
    MemoryTimes,
    OperandLatencies,
)
from inference.core.core_model.nearest import NearestSchemes, nearest_scheme
from inference.core.core_model.overview import CoreOverview, KindOnPort, PortOfCore, UnitKind, core_overview
from inference.core.core_model.prediction import (
    Assumptions,
    BoundKind,
    CodeShape,
    CoreBound,
    CorePrediction,
    TakenScheme,
)

__all__ = [
    "Assumptions",
    "BoundKind",
    "BypassTimes",
    "CodeShape",
    "CoreBound",
    "CoreModel",
    "CoreOverview",
    "CorePrediction",
    "CoreScheduler",
    "CriticalCycle",
    "Edge",
    "FrontEndLimits",
    "KindOnPort",
    "LatencyBases",
    "LatencyEnd",
    "MemoryTimes",
    "NearestSchemes",
    "OperandLatencies",
    "PortOfCore",
    "TakenScheme",
    "UnitKind",
    "chained_latency",
    "core_overview",
    "critical_cycle",
    "known_latencies",
    "nearest_scheme",
    "predict_core",
]
