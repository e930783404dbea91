"""`manage.py congruence`: classes of a port mapping whose schemes were hardly compared."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from inference.features.judging.congruence.api import congruence_json
from inference.features.judging.congruence.query import congruence_of
from inference.features.learning.inferring.classes_section import FEW_COMPARED
from inference.models import PortMapping
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """Congruence in the shell; see the module."""

    help = (
        f"Schemes that a mapping takes for alike after fewer than {FEW_COMPARED} comparisons, and the pairs "
        "to measure then (manage.py measure --experiment)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print them, the least compared first."""
        row = by_name(PortMapping, options["mapping"])
        found = congruence_of(row)
        if options["json"]:
            self.stdout.write(json.dumps(congruence_json(found), ensure_ascii=False))
            return
        known = "" if found.likeness or not found.classes else "; what was compared is not known"
        self.stdout.write(f"{len(found.classes)} classes, {len(found.weak)} weak members{known}")
        for each in found.weak:
            self.stdout.write(f"{each.scheme}: {each.compared} compared with {each.representative}")
        if found.pairs:
            self.stdout.write("pairs to measure:")
        for pair in found.pairs:
            self.stdout.write(f"  {pair}")
