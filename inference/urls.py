"""All addresses of the inference app, collected from its features, and those of the API."""

from __future__ import annotations

from inference.features import FEATURES, addresses
from inference.web.api.reference import urlpatterns as api

urlpatterns = [*api, *addresses(FEATURES)]
