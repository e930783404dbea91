"""Runs: the list, a run's page, and what a user does to a run."""

from inference.views.runs.actions import urlpatterns as action_urls
from inference.views.runs.front import urlpatterns as front_urls
from inference.views.runs.going_on import urlpatterns as going_on_urls
from inference.views.runs.model_check import urlpatterns as model_check_urls
from inference.views.runs.pages import urlpatterns as page_urls

urlpatterns = [*page_urls, *going_on_urls, *action_urls, *front_urls, *model_check_urls]
