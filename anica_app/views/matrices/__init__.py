"""Matrices: how often each two tools disagree about the blocks of a set."""

from __future__ import annotations

from anica_app.views.matrices import pages, starting

urlpatterns = [*starting.urlpatterns, *pages.urlpatterns]
