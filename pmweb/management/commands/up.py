"""`manage.py up`: the whole site in one command."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from pmweb.launcher.site import Site
from pmweb.launcher.supervisor import LaunchError


class Command(BaseCommand):
    """Start web server, worker and agent, restart what dies, stop all with one Ctrl-C."""

    help = "Start the site (web server, worker, measuring agent); Ctrl-C stops all of it."
    requires_system_checks = []  # the children check; a supervisor must not fail where they could start

    def add_arguments(self, parser: CommandParser) -> None:
        self.add_address(parser)
        parser.add_argument(
            "--no-agent",
            action="store_true",
            help="do not measure on this computer",
        )
        parser.add_argument(
            "--without-sandbox",
            action="store_true",
            help="measure even where this kernel cannot confine machine code",
        )

    def add_address(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="IPv4 address or name to listen on; 0.0.0.0 serves the whole network (default: this host)",
        )
        parser.add_argument("--port", type=int, default=8000, help="0 takes any free port (default: 8000)")

    def site(self, options: dict[str, Any]) -> Site:
        return Site(
            options["host"],
            options["port"],
            self._say,
            with_agent=not options["no_agent"],
            sandboxed=not options["without_sandbox"],
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run the site until a stop signal."""
        try:
            self.site(options).run()
        except LaunchError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt as error:
            raise CommandError("stopped while starting.") from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
