"""`manage.py login-link`: another way in."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import CommandError

from inference.web.data_command import DataCommand
from pmweb.accounts import links
from pmweb.accounts.people import ensure_administrator
from pmweb.launcher.instance import running_site


class Command(DataCommand):
    """Print a link that logs its bearer in once."""

    help = "Print a link that logs somebody in, once, within an hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare whom."""
        parser.add_argument("--user", metavar="NAME", help="whom it logs in (the administrator)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make the link; its address is the configured one, that of the running site, or the default one."""
        site = settings.URL or running_site(settings.HOME)
        token = links.issue_in_shell(_user(options["user"]), "made in the shell")
        address = (site or "http://localhost:8000/").rstrip("/")
        self.stdout.write(address + links.path_of(token))
        if site is None:
            self.stderr.write("pmweb is not running with this data; start it, then open the link.")


def _user(name: str | None) -> User:
    if name is None:
        return ensure_administrator()
    user = User.objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CommandError(f"there is no active account {name!r}: `manage.py account list`")
    return user
