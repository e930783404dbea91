"""The addresses below `ROOT` by themselves: making them takes as long as all pages; only who asks waits."""

from __future__ import annotations

from inference.web.api.site import addresses

urlpatterns = addresses()
