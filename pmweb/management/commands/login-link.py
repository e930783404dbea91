"""`manage.py login-link`: print a one-time log-in link."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.web.data_command import DataCommand
from pmweb.accounts import people
from pmweb.launcher.instance import has_site_address, site_address


class Command(DataCommand):
    help = "Print a link that logs a user in, once, within an hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", metavar="NAME", help="account to log in (the administrator)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print the link, with the configured address, that of the running site, or the default."""
        name = options["user"]
        user = people.ensure_administrator() if name is None else people.active_user(name)
        token = people.issue_link_in_shell(user, "made in the shell")
        self.stdout.write(site_address() + people.link_path(token))
        if not has_site_address():
            self.stderr.write("pmweb is not running with this data; start it, then open the link.")
