"""The site's settings with a part that is broken on purpose: `PMWEB_BROKEN` says which (`broken`)."""

from pmweb.settings import *  # noqa: F403
from pmweb.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "benchmarks._chaos.broken.Sabotage"]
