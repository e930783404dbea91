"""The page of a discovery: what it says, how it was generalised, and what one does with it."""

from __future__ import annotations

from anica_app.views.discoveries import actions, asking, page, reproducing

urlpatterns = [
    *page.urlpatterns,
    *asking.urlpatterns,
    *actions.urlpatterns,
    *reproducing.urlpatterns,
]
