"""Every address of AnICA; the pages of each feature list their own."""

from __future__ import annotations

from anica_app.features import FEATURES
from inference.features import addresses

urlpatterns = [*addresses(FEATURES)]
