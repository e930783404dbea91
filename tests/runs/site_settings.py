"""The site's own settings plus the counting job, for processes that tests start.

Without the web server and its pages: they take longer to load than the runs of these tests last.
"""

from pmweb.settings import *  # noqa: F403
from pmweb.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [app for app in _APPS if app != "daphne"] + ["tests.runs.counting.apps.CountingConfig"]
ASGI_APPLICATION = "tests.runs.site_settings.application"
ROOT_URLCONF = "tests.runs.site_settings"

urlpatterns: list[object] = []


async def application(scope, receive, send):
    raise AssertionError("a worker of runs never calls the site")
