"""How the pages of runs show the kinds of AnICA: a summary, the description in words, what came of them."""

from __future__ import annotations

from anica_app.features.block_sets import accuracy, columns, loops_job
from anica_app.features.block_sets.asked import WORDS, imports_of, loops_of, sets_of
from anica_app.features.block_sets.query import of_block_set
from anica_app.features.campaigns.asked import campaigns_of, coverages_of, matrices_of
from anica_app.features.campaigns.query import of_campaign
from anica_app.features.comparisons.pages import comparisons_of
from anica_app.features.comparisons.request import KIND as COMPARISON
from anica_app.features.questions.answers import answers_of
from anica_app.features.questions.query import KIND as ASK
from anica_app.models import BasicBlockSet, Campaign
from inference.features.runs import asked, outcome
from inference.features.runs.pages import SUMMARIES
from inference.web import naming, offers


def register() -> None:
    """Tell the pages of runs; done when the first page is asked for."""
    SUMMARIES.update(
        {
            ASK: "Predictors asked about basic blocks",
            COMPARISON: "Predictors beside the measurements of a set",
            "matrix": "How often tools disagree about basic blocks",
            "coverage": "How much of what is interesting discoveries explain",
            "llvm-difference": "A port mapping beside LLVM’s scheduling model",
            "import-anica": "A basic-block set or a campaign from a file",
            accuracy.KIND: "How well the columns of a basic-block set agree with one of them",
            columns.KIND: "Predictors asked about all blocks of a set",
            loops_job.KIND: "The loops of a compiled program",
        }
    )
    for kind, words in WORDS.items():
        asked.register(kind, words)
    for kind, made in (
        (ASK, answers_of),
        (COMPARISON, comparisons_of),
        ("campaign", campaigns_of),
        ("generalise", campaigns_of),
        ("coverage", coverages_of),
        ("matrix", matrices_of),
        ("import-anica", imports_of),
        (loops_job.KIND, loops_of),
        (columns.KIND, sets_of),
        (accuracy.KIND, sets_of),
    ):
        outcome.register(kind, made)
    naming.register(BasicBlockSet, of_block_set)
    naming.register(Campaign, of_campaign)
    offers.offer_on_set(
        offers.SetOffer(
            "Compare predictors", "chart", "comparison-new", "comparisons", "Predictor comparisons"
        )
    )
