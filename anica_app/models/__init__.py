"""The tables of AnICA, one aggregate per file."""

from anica_app.models.campaign import Campaign, CampaignFile, CampaignPredictor, SampleBatch
from anica_app.models.discovery import Discovery, Generalisation, GeneralisationStep
from anica_app.models.family import Family

__all__ = [
    "Campaign",
    "CampaignFile",
    "CampaignPredictor",
    "Discovery",
    "Family",
    "Generalisation",
    "GeneralisationStep",
    "SampleBatch",
]
