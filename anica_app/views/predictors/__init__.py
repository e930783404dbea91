"""The pages about predictors: which there are, trying them, adding one."""

from __future__ import annotations

from anica_app.views.predictors.pages import urlpatterns

__all__ = ["urlpatterns"]
