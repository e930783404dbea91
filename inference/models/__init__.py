"""Models of the database, one aggregate per file. Invariants of rows are constraints of the schema."""

from inference.models.block_set import (
    AnswerCache,
    BasicBlock,
    BasicBlockSet,
    BlockColumn,
    Prediction,
    Predictor,
    identity_key,
)
from inference.models.comparison import ComparedColumn, Comparison
from inference.models.core_model import LatencySet, MeasuredFrontEnd, SchemeLatencies, StoredCoreModel
from inference.models.experiment import (
    ISA,
    Experiment,
    ExperimentSet,
    ExperimentTerm,
    InstructionScheme,
    Measurement,
)
from inference.models.machine import AgentToken, Batch, Machine, MachineReading
from inference.models.mapping import (
    Characterisation,
    Evaluation,
    FrontPoint,
    PortMapping,
    PortUsage,
    ResourceLoad,
    ResourceMapping,
    SchemeConflict,
    Witness,
)
from inference.models.run import Run, RunCheckpoint, RunEvent, Upload, UploadPart, Webhook

__all__ = [
    "ISA",
    "AgentToken",
    "AnswerCache",
    "BasicBlock",
    "BasicBlockSet",
    "Batch",
    "BlockColumn",
    "Characterisation",
    "ComparedColumn",
    "Comparison",
    "Evaluation",
    "Experiment",
    "ExperimentSet",
    "ExperimentTerm",
    "FrontPoint",
    "InstructionScheme",
    "LatencySet",
    "Machine",
    "MachineReading",
    "MeasuredFrontEnd",
    "Measurement",
    "PortMapping",
    "PortUsage",
    "Prediction",
    "Predictor",
    "ResourceLoad",
    "ResourceMapping",
    "Run",
    "RunCheckpoint",
    "RunEvent",
    "SchemeConflict",
    "SchemeLatencies",
    "StoredCoreModel",
    "Upload",
    "UploadPart",
    "Webhook",
    "Witness",
    "identity_key",
]
