"""Every address of AnICA; each page family lists its own."""

from __future__ import annotations

from anica_app.views import (
    block_sets,
    blocks,
    campaigns,
    comparisons,
    discoveries,
    imports,
    llvm_difference,
    matrices,
    predictors,
)

urlpatterns = [
    *block_sets.urlpatterns,
    *blocks.urlpatterns,
    *campaigns.urlpatterns,
    *comparisons.urlpatterns,
    *discoveries.urlpatterns,
    *imports.urlpatterns,
    *llvm_difference.urlpatterns,
    *matrices.urlpatterns,
    *predictors.urlpatterns,
]
