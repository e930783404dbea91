"""Every address of inference; the pages of each feature list their own, where they are more than a tab."""

from __future__ import annotations

from inference.features import FEATURES, addresses
from inference.web.api.reference import urlpatterns as api

urlpatterns = [*api, *addresses(FEATURES)]
