"""All addresses of AnICA, collected from its features."""

from __future__ import annotations

from anica_app.features import FEATURES
from inference.features import addresses

urlpatterns = [*addresses(FEATURES)]
