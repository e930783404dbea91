"""Every address of AnICA; the pages of each feature list their own."""

from __future__ import annotations

from anica_app.features.accuracy_checks.pages import urlpatterns as accuracy_checks
from anica_app.features.block_sets.accuracy_pages import urlpatterns as block_sets_accuracy_pages
from anica_app.features.block_sets.gate_pages import urlpatterns as block_sets_gate_pages
from anica_app.features.block_sets.import_pages import urlpatterns as block_sets_import_pages
from anica_app.features.block_sets.loop_pages import urlpatterns as block_sets_loop_pages
from anica_app.features.block_sets.pages import urlpatterns as block_sets
from anica_app.features.campaigns.comparison_pages import urlpatterns as campaigns_comparison_pages
from anica_app.features.campaigns.pages import urlpatterns as campaigns
from anica_app.features.campaigns.starting import urlpatterns as campaigns_starting
from anica_app.features.comparisons.files import urlpatterns as comparisons_files
from anica_app.features.comparisons.pages import urlpatterns as comparisons
from anica_app.features.comparisons.starting import urlpatterns as comparisons_starting
from anica_app.features.coverage.pages import urlpatterns as coverage
from anica_app.features.discoveries.asking_pages import urlpatterns as discoveries_asking_pages
from anica_app.features.discoveries.pages import urlpatterns as discoveries
from anica_app.features.families.pages import urlpatterns as families
from anica_app.features.llvm_difference.pages import urlpatterns as llvm_difference
from anica_app.features.matrices.pages import urlpatterns as matrices
from anica_app.features.predictors.pages import urlpatterns as predictors
from anica_app.features.questions.answers import urlpatterns as questions_answers
from anica_app.features.questions.pages import urlpatterns as questions

urlpatterns = [
    *accuracy_checks,
    *block_sets_accuracy_pages,
    *block_sets_gate_pages,
    *block_sets_import_pages,
    *block_sets_loop_pages,
    *block_sets,
    *campaigns_comparison_pages,
    *campaigns,
    *campaigns_starting,
    *comparisons_files,
    *comparisons,
    *comparisons_starting,
    *coverage,
    *discoveries_asking_pages,
    *discoveries,
    *families,
    *llvm_difference,
    *matrices,
    *predictors,
    *questions_answers,
    *questions,
]
