"""`manage.py login-link`: another way in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse

from inference.management.data_command import DataCommand
from pmweb.accounts import links
from pmweb.accounts.administrator import ensure_administrator
from pmweb.launcher.instance import running_site


class Command(DataCommand):
    """Print a link that logs its bearer in once."""

    help = "Print a link that logs the administrator in, once, within an hour."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Make the link; its address is the configured one, that of the running site, or the default one."""
        site = settings.URL or running_site(settings.HOME)
        token = links.issue(ensure_administrator())
        address = (site or "http://localhost:8000/").rstrip("/")
        self.stdout.write(address + reverse("login-link", args=[token]))
        if site is None:
            self.stderr.write("pmweb is not running with this data; start it, then open the link.")
