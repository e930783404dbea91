"""Basic blocks: pasting them, and the page of what everybody says of them."""

from __future__ import annotations

from anica_app.exchange.asked_answers import KIND
from anica_app.views.blocks import answers, pages
from anica_app.views.blocks.origin import answers_of
from inference.features.runs import outcome

outcome.register(KIND, answers_of)

urlpatterns = [*pages.urlpatterns, *answers.urlpatterns]
