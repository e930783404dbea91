"""`manage.py login-link`: another way in."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from inference.web.data_command import DataCommand
from pmweb.accounts import people
from pmweb.launcher.instance import has_site_address, site_address


class Command(DataCommand):
    """Print a link that logs its bearer in once."""

    help = "Print a link that logs somebody in, once, within an hour."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", metavar="NAME", help="whom it logs in (the administrator)")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Make the link; its address is the configured one, that of the running site, or the default one."""
        name = options["user"]
        user = people.ensure_administrator() if name is None else people.active_user(name)
        token = people.issue_link_in_shell(user, "made in the shell")
        self.stdout.write(site_address() + people.link_path(token))
        if not has_site_address():
            self.stderr.write("pmweb is not running with this data; start it, then open the link.")
