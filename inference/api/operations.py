"""The addresses below `ROOT` by themselves: making them takes as long as all pages; only who asks waits."""

from __future__ import annotations

from inference.api.site import addresses

urlpatterns = addresses()
