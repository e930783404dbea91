"""Every address of AnICA; each page family lists its own."""

from __future__ import annotations

from anica_app.views import imports, llvm_difference, predictors

urlpatterns = [*imports.urlpatterns, *llvm_difference.urlpatterns, *predictors.urlpatterns]
