"""What other tests show on SQLite holds on PostgreSQL: the same tests, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.conf import settings

from tests.servers import PostgreSQL

SUBJECTS = {
    "the schema and its constraints": ("tests/models",),
    "what is stored and loaded": (
        "tests/storage/test_rows.py",
        "tests/storage/test_resource_mappings.py",
        "tests/formats/test_importing.py",
    ),
    "searches and lists": (
        "tests/models/test_scheme_search.py",
        "tests/features/search/test_other_names.py",
        "tests/web/test_paging.py",
    ),
    "campaigns": (
        "tests/anica/features/campaigns/test_job.py::"
        "test_interruptions_at_random_moments_leave_the_same_rows",
    ),
    "retention": ("tests/pmweb/test_retention.py",),
    "leases, journal and batches": (
        "tests/runs/test_leases.py",
        "tests/runs/test_lifecycle.py",
        "tests/runs/test_measurements.py",
        "tests/runs/test_reporter.py",
    ),
}
ON_FILES = "not on_one_file"
"""Tests of several threads on one SQLite file; `test_contention` has several processes on PostgreSQL."""


def test_the_same_tests_pass_on_postgresql(postgresql: PostgreSQL, tmp_path):
    files = [name for names in SUBJECTS.values() for name in names]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "not shared",
            "-k",
            ON_FILES,
            "-p",
            "no:cacheprovider",
            *files,
        ],
        cwd=settings.BASE_DIR,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            **postgresql.environment("postgres"),
            "PMWEB_HOME": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == pytest.ExitCode.OK, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    with postgresql.connect() as connection:
        left = connection.execute(
            "SELECT datname FROM pg_database WHERE datname = 'test_postgres'"
        ).fetchall()
    assert left == []
