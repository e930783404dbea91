"""Makes the dumps of older releases: `python -m tests.upgrade.make VERSION`, in a clone with its history.

The release's own code, as git has it, migrates an empty SQLite file and fills it (`fill`, `fill_tables`); the
file is kept, compressed. Made once for each release, before the next one; a dump
that is there never changes.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

COMMITS = {
    "0.6.0": "29b75ab",
    "0.7.0": "3832369",
    "0.8.0": "a940b8b7",
}
"""The last commit of each release."""

HERE = Path(__file__).resolve().parent


def dump_of(version: str) -> Path:
    """Where the dump of a release is."""
    return HERE / f"site-{version}.sqlite3.gz"


def restore(version: str, database: Path) -> None:
    """Make the release's database file anew."""
    database.write_bytes(gzip.decompress(dump_of(version).read_bytes()))


def keep(database: Path, version: str) -> Path:
    """Write the dump of a filled database."""
    small = database.with_suffix(".small")
    with closing(sqlite3.connect(database)) as rows:
        rows.execute("VACUUM INTO ?", [str(small)])
    path = dump_of(version)
    path.write_bytes(gzip.compress(small.read_bytes(), 9, mtime=0))
    return path


def main() -> None:
    """Make one dump."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", choices=COMMITS)
    version = parser.parse_args().version
    with tempfile.TemporaryDirectory() as directory:
        tree, home = Path(directory) / "tree", Path(directory) / "home"
        tree.mkdir()
        home.mkdir()
        packed = subprocess.run(
            ["git", "archive", COMMITS[version]], cwd=HERE.parent.parent, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x"], cwd=tree, input=packed.stdout, check=True)
        environment = {
            **os.environ,
            "PMWEB_HOME": str(home),
            "PYTHONPATH": str(tree),
            "DJANGO_SETTINGS_MODULE": "pmweb.settings",
        }
        migrate = ["manage.py", "migrate", "-v0", "--skip-checks"]
        for command in (migrate, [str(HERE / "fill.py")], [str(HERE / "fill_tables.py")]):
            subprocess.run([sys.executable, *command], cwd=tree, env=environment, check=True)
        path = keep(home / "pmweb.sqlite3", version)
    sys.stdout.write(f"{path.name}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
