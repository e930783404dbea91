"""The database, one aggregate per file; constraints live here and in the schema, not in views."""

from inference.models.block_set import BasicBlock, BasicBlockSet, BlockColumn, Prediction
from inference.models.characterisation import Characterisation, Witness
from inference.models.comparison import ComparedColumn, Comparison
from inference.models.core_model import StoredCoreModel
from inference.models.experiment import Experiment, ExperimentSet, ExperimentTerm, Measurement
from inference.models.front_end import MeasuredFrontEnd
from inference.models.isa import ISA, InstructionScheme
from inference.models.latency import LatencySet, SchemeLatencies
from inference.models.machine import AgentToken, Batch, Machine, MachineReading
from inference.models.mapping import Evaluation, FrontPoint, PortMapping, PortUsage, SchemeConflict
from inference.models.predictor import AnswerCache, Predictor, identity_key
from inference.models.resource import ResourceLoad, ResourceMapping
from inference.models.run import Run, RunCheckpoint, RunEvent, Webhook
from inference.models.upload import Upload

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
    "Webhook",
    "Witness",
    "identity_key",
]
