"""`manage.py excess`: measurements that take longer than a port mapping allows."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from inference.features.judging.excess.query import excess_in
from inference.models import ExperimentSet, PortMapping
from inference.storage.names import by_name
from inference.storage.rows import load_mapping
from inference.web.data_command import DataCommand

LISTED = 3  # experiments of a group


class Command(DataCommand):
    """Excess in the shell; see the module."""

    help = "Experiments that take longer than a mapping allows, grouped by the µops that limit them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument(
            "--dataset", metavar="SET", required=True, help="the measurements to hold it against"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the groups, those with most experiments first."""
        row = by_name(PortMapping, options["mapping"])
        dataset = by_name(ExperimentSet, options["dataset"])
        if row.isa_id != dataset.isa_id:
            raise CommandError(
                f"{dataset.name!r} holds measurements of {dataset.isa.name}, not {row.isa.name}"
            )
        found, ports = excess_in(row, dataset), load_mapping(row).ports
        if options["json"]:
            told = {
                "mapping": row.name,
                "dataset": dataset.name,
                "experiments": found.experiments,
                "exceeding": found.exceeding,
                "groups": [group.as_json(ports, LISTED) for group in found.groups],
            }
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        self.stdout.write(
            f"{found.exceeding:,} of {found.experiments:,} experiments take longer than {row.name} says"
        )
        for group in found.groups:
            limits = " and ".join(f"[{','.join(names)}]" for names in group.port_names(ports))
            longer = f"{len(group.exceeding)} of {group.experiments}, median {100 * group.median:+.1f} %"
            self.stdout.write(f"{limits or 'issue slots'}: {longer}")
            for each in group.exceeding[:LISTED]:
                cycles = f"{each.measured:.4g} cycles instead of {each.predicted:.4g}"
                self.stdout.write(f"  {each.experiment}: {cycles}")
