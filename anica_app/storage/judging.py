"""What a stored campaign finds interesting."""

from __future__ import annotations

from anica_app.core.search.judging import Disagreement, InterestJudge, InterestSettings
from anica_app.formats import anica_campaigns
from anica_app.models import Campaign
from inference.core.errors import InvalidInputError


def judge_of(campaign: Campaign) -> InterestJudge | None:
    """What it found interesting; None where its configuration does not tell.

    An explanation of one prediction asks for the same number as that of a block, which is not kept.
    """
    if campaign.kind == Campaign.Kind.EXPLANATION:
        return None
    if campaign.format == Campaign.Format.ANICA:
        return anica_campaigns.judge_of(campaign.config)
    try:
        return Disagreement(InterestSettings.parse(campaign.config.get("interest", {})))
    except InvalidInputError:
        return None
