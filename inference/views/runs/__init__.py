"""Runs: the list, a run's page, and what a user does to a run."""

from inference.views.runs.actions import urlpatterns as action_urls
from inference.views.runs.pages import urlpatterns as page_urls

urlpatterns = [*page_urls, *action_urls]
