"""Counts in a run that the shell waits for."""

from inference.runs import lifecycle
from inference.web.run_command import RunCommand


class Command(RunCommand):
    def handle(self, *args, **options):
        config = {"steps": 300, "pause": 0.5}
        self.do_run(lambda: lifecycle.submit("count", config, "from the shell"))
