"""A core as one value: ports, slots, latencies, idioms, memory and front end, and the bounds that follow.

No core is quicker than any of its bounds; the prediction for a block is the largest, with its name.

| module | |
|---|---|
| `model` | the value, with the basis of each part |
| `bounds` | all bounds together; those of ports, slots, width, front end and scheduler |
| `dependences` | the dependence graph of a block |
| `critical_cycles` | the largest ratio of latency to iterations in it |
| `port_work` | the µops that each instruction gives to ports, the loop's own jump included |
| `memory_bounds` | the throughput of loads and stores |
| `stored_values` | how loads get values that the block stored |
| `prediction` | code, bounds and prediction as values |
| `nearest` | blocks predicted under assumptions; undescribed schemes replaced by the nearest ones |
| `simulated_program` | a block on the core's simulated scheduler |
| `scheduler_experiments`, `scheduler_inference`, `scheduled_times` | inferring a core's scheduler |
| `loop_code`, `memory_reading` | a core's fetching and its memory, read from measurements |
| `overview` | which kinds of instructions each port runs, and how they compete |
| `differences` | two cores side by side |
"""

from inference.core.core_model.bounds import predict_core
from inference.core.core_model.critical_cycles import CriticalCycle, Edge, critical_cycle
from inference.core.core_model.front_end_limits import FrontEndLimits
from inference.core.core_model.model import (
    BypassTimes,
    CoreModel,
    CoreScheduler,
    LatencyBases,
    LatencyEnd,
    MemoryTimes,
    OperandLatencies,
    chained_latency,
    known_latencies,
)
from inference.core.core_model.nearest import NearestSchemes, nearest_scheme
from inference.core.core_model.overview import (
    CoreOverview,
    KindCompetition,
    KindOnPort,
    PortOfCore,
    UnitKind,
    core_overview,
    kind_competition,
)
from inference.core.core_model.prediction import (
    Assumptions,
    BoundKind,
    CodeShape,
    CoreBound,
    CorePrediction,
    SchemeSubstitution,
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
    "KindCompetition",
    "KindOnPort",
    "LatencyBases",
    "LatencyEnd",
    "MemoryTimes",
    "NearestSchemes",
    "OperandLatencies",
    "PortOfCore",
    "SchemeSubstitution",
    "UnitKind",
    "chained_latency",
    "core_overview",
    "critical_cycle",
    "kind_competition",
    "known_latencies",
    "nearest_scheme",
    "predict_core",
]
