"""The zip of a run among the formats that commands and pages take and write."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from inference.exchange.errors import ExchangeError
from inference.exchange.incoming import taken_in
from inference.exchange.names import by_name
from inference.exchange.run_archive.reading import is_archive, read_archive
from inference.exchange.run_archive.writing import write_archive
from inference.models import Run
from inference.runs.archived import store_archive
from inference.runs.software import versions


def write_run(name: str, file: BinaryIO) -> None:
    """Write the zip of the run of this name, for `manage.py export`. Raises `ExchangeError`."""
    file.write(write_archive(by_name(Run, name), versions()))


class RunArchives:
    """See `inference.exchange.other_formats.Importer`."""

    titles = "run (own zip)"
    preview = "upload-run"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Nothing for these files alone."""

    def reads_path(self, path: Path) -> bool:
        """Whether it is the zip of a run."""
        try:
            return path.suffix == ".zip" and path.is_file() and is_archive(path.read_bytes())
        except OSError:
            return False  # the command says why

    def reads_content(self, content: bytes) -> bool:
        """Whether an uploaded file is one."""
        return is_archive(content)

    def import_path(self, path: Path, options: Mapping[str, Any]) -> list[str]:
        """The run with everything in the zip, all or nothing. Raises `ExchangeError`."""
        try:
            with path.open("rb") as file:
                content = taken_in(file, path.name)
        except OSError as error:
            raise ExchangeError(f"{path} cannot be read: {error.strerror}") from error
        archive = read_archive(content)
        made = store_archive(archive, path.name, name=options["name"], note=options["note"])
        manifest = archive.manifest
        told = [f"run {made.name!r}: {len(archive.events)} events, {archive.rows} measurements"]
        told += [
            f"experiment set {each.told.name!r}: {len(each.measured)} measurements" for each in archive.sets
        ]
        told += [f"port mapping {each.name!r}" for each in manifest.mappings]
        return [*told, *(f"resource mapping {each.name!r}" for each in manifest.resource_mappings)]
