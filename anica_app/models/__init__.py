"""The tables of AnICA, one aggregate per file."""

from anica_app.models.block_set import BasicBlock, BasicBlockSet, BlockColumn, Prediction
from anica_app.models.campaign import Campaign, CampaignFile, CampaignPredictor, SampleBatch
from anica_app.models.comparison import ComparedColumn, Comparison
from anica_app.models.discovery import Discovery, Generalisation, GeneralisationStep
from anica_app.models.family import Family
from anica_app.models.predictor import IMPORTED, AnswerCache, Predictor, identity_key

__all__ = [
    "IMPORTED",
    "AnswerCache",
    "BasicBlock",
    "BasicBlockSet",
    "BlockColumn",
    "Campaign",
    "CampaignFile",
    "CampaignPredictor",
    "ComparedColumn",
    "Comparison",
    "Discovery",
    "Family",
    "Generalisation",
    "GeneralisationStep",
    "Prediction",
    "Predictor",
    "SampleBatch",
    "identity_key",
]
