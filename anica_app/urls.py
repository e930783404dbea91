"""Every address of AnICA; each page family lists its own."""

from __future__ import annotations

from anica_app.views import campaigns, discoveries, imports, llvm_difference, matrices, predictors

urlpatterns = [
    *campaigns.urlpatterns,
    *discoveries.urlpatterns,
    *imports.urlpatterns,
    *llvm_difference.urlpatterns,
    *matrices.urlpatterns,
    *predictors.urlpatterns,
]
