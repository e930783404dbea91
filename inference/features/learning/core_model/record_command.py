"""`manage.py record-core MODEL`: adds a profiled core to the gallery."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.features.learning.core_model.comparison import core_label
from inference.features.library.gallery.query import RecordedCore, store_recording
from inference.formats.core_model_json import core_model_json
from inference.models import StoredCoreModel
from inference.storage.core_models import core_model_of
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    help = (
        "Write a core model into the gallery of this checkout, with where its numbers come from. Profile the "
        "core on a quiet machine first; names of machines, notes and sources are not written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="MODEL", help="a core model")
        parser.add_argument(
            "--core", metavar="NAME", default="", help="the core, e.g. 'Zen 5' (default: its own)"
        )
        parser.add_argument("--measured", required=True, help="what was measured, e.g. 'default set'")
        parser.add_argument("--accuracy", required=True, help="how well it predicts, on what")
        parser.add_argument("--lacks", default="", help="what is missing")

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(StoredCoreModel, options["name"])
        core = options["core"] or core_label(row)
        slug = re.sub(r"[^a-z0-9]+", "-", core.lower()).strip("-")
        if not slug:
            raise CommandError(f"--core {core!r} has no letter or digit to name files by")
        processor = "" if row.machine is None else row.machine.cpu
        recorded = RecordedCore(
            slug=slug,
            name=f"Recorded {core}",
            core=core,
            processor=processor or "not recorded",
            recorded=row.created.date(),
            measured=options["measured"],
            accuracy=options["accuracy"],
            lacks=options["lacks"],
            isa=row.isa.name,
        )
        model = core_model_of(row)
        document = core_model_json(model, name=recorded.name, isa=recorded.isa, port_names=row.port_names)
        for path in store_recording(recorded, {**document, "sources": {}}):
            self.stdout.write(f"{path.name}: {path.stat().st_size:,} bytes")
