"""What tests/runs shows of leases and workers on SQLite holds on PostgreSQL: the same tests, another `site`."""

from tests.runs.test_leases import *  # noqa: F403
from tests.runs.test_worker import (  # noqa: F401
    test_a_run_goes_on_from_its_checkpoint_when_worker_and_child_are_killed,
    test_runs_are_done_side_by_side_and_each_exactly_once,
)
