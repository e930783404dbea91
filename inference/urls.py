"""Every address of inference; the pages of each feature list their own, where they are more than a tab."""

from __future__ import annotations

from inference.features import modules
from inference.web.api.urls import urlpatterns as api

urlpatterns = [*api, *(each for pages in modules("pages") for each in getattr(pages, "urlpatterns", ()))]
