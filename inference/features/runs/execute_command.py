"""`manage.py execute-run`: the child process in which a worker lets one run happen."""

from __future__ import annotations

import os
import signal
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from inference.runs.child import LEASE_VARIABLE, bind_to_parent
from inference.runs.errors import LeaseLostError
from inference.runs.execute import StopRequests, execute
from inference.runs.journal import Lease


class Command(BaseCommand):
    """Does one claimed run; started by a worker, which hands over the lease in the environment."""

    help = "Internal: do one claimed run. Workers start this; `work` starts a worker."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: CommandParser) -> None:
        """The run, for process listings; the lease comes through the environment."""
        parser.add_argument("run", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit code 0 whenever the run was left in a settled state."""
        if LEASE_VARIABLE not in os.environ:
            raise CommandError("execute-run is started by a worker: use `manage.py work`")
        bind_to_parent()
        lease = Lease.from_text(os.environ[LEASE_VARIABLE])
        wishes = StopRequests(lease)
        signal.signal(signal.SIGTERM, lambda _number, _frame: wishes.stop())
        try:
            execute(lease, wishes)
        except LeaseLostError as error:
            raise CommandError(str(error)) from error
