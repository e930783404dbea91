"""`manage.py llvm-difference`: where LLVM's scheduling model differs from a mapping, as Markdown."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.features.judging.llvm_difference.job import TOLERANCE, DifferenceConfig, difference
from inference.features.judging.llvm_difference.report import markdown
from inference.isa.targets import names_with_blocks, target_of
from inference.models import PortMapping
from inference.storage.exported import exported
from inference.storage.names import by_name
from inference.web.data_command import DataCommand


class Command(DataCommand):
    """The report in the shell; see the module."""

    help = "Hold a port mapping of x86-64 against LLVM's scheduling model, and write a report in Markdown."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="NAME", help="a port mapping")
        parser.add_argument("--release", default="", help="major version of llvm-mca (default: the newest)")
        parser.add_argument(
            "--cpu", default="", help="processor for -mcpu (default: that of the mapping's machine)"
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=None,
            metavar="SHARE",
            help="report from here on (default: 0.2)",
        )
        parser.add_argument("--output", type=Path, metavar="FILE", help="write here instead of to the output")

    def handle(self, *args: Any, **options: Any) -> None:
        tolerance = TOLERANCE if options["tolerance"] is None else options["tolerance"]
        row = by_name(PortMapping, options["mapping"])
        if target_of(row.isa.name).blocks is None:
            right = ", ".join(names_with_blocks())
            raise CommandError(f"{row.name!r} is for {row.isa.name}, this can be done for {right}")
        cpu = options["cpu"] or exported(row).tools.llvm
        if not cpu:
            raise CommandError(
                "which processor of LLVM the mapping is of is not known: name it with --cpu, e.g. haswell"
            )
        config = DifferenceConfig.read(
            {"mapping": row.pk, "cpu": cpu, "release": options["release"], "tolerance": tolerance}
        )
        text = markdown(difference(row, config))
        self.deliver(text, options["output"])
