"""Basic blocks in the browser: pasting and decoding them, and the results of a run over them."""

from __future__ import annotations

from inference.views.blocks import pages

urlpatterns = [*pages.urlpatterns]
