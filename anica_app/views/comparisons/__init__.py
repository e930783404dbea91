"""Comparisons of predictors: the list, starting one, its page, its tables as files."""

from __future__ import annotations

from anica_app.campaigning.comparison_config import KIND
from anica_app.views.comparisons import files, listing, page, starting
from inference.features.runs import outcome
from inference.features.runs.pages import SUMMARIES
from inference.web import offers

SUMMARIES[KIND] = "Predictors beside the measurements of a set"
outcome.register(KIND, listing.comparisons_of)
offers.offer_on_set(
    offers.SetOffer("Compare predictors", "chart", "comparison-new", "comparisons", "Predictor comparisons")
)

urlpatterns = [*listing.urlpatterns, *starting.urlpatterns, *page.urlpatterns, *files.urlpatterns]
