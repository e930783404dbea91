"""The database, one aggregate per file; constraints live here and in the schema, not in views."""

from inference.models.experiment import Experiment, ExperimentSet, ExperimentTerm, Measurement
from inference.models.isa import ISA, InstructionScheme
from inference.models.machine import Machine
from inference.models.mapping import Evaluation, PortMapping, PortUsage
from inference.models.run import Run, RunCheckpoint, RunEvent
from inference.models.upload import Upload

__all__ = [
    "ISA",
    "Evaluation",
    "Experiment",
    "ExperimentSet",
    "ExperimentTerm",
    "InstructionScheme",
    "Machine",
    "Measurement",
    "PortMapping",
    "PortUsage",
    "Run",
    "RunCheckpoint",
    "RunEvent",
    "Upload",
]
