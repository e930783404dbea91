"""What the tests of the runs share."""

from tests.runs.fixtures import migrated, site, staffed

__all__ = ["migrated", "site", "staffed"]
