"""`manage.py serve`: only the web process, for a site on several computers."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from pmweb.launcher.site import Site
from pmweb.management.commands.up import Command as UpCommand


class Command(UpCommand):
    """Prepare the database and the static files, then serve pages and WebSockets; workers run elsewhere."""

    help = "Serve pages and WebSockets only: `work` executes the runs. SIGTERM ends it."

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_address(parser)

    def site(self, options: dict[str, Any]) -> Site:
        """A site without worker and agent."""
        return Site(options["host"], options["port"], self._say, with_agent=False, with_worker=False)
