"""`manage.py check-strategy`: what a fixed set of experiments cannot see, however well it is measured."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from inference.core.cegar.strategy import BlindSpot, blind_spot, singletons_and_pairs, with_blocking
from inference.core.experiment import Experiment
from inference.core.mapping import PortMapping
from inference.web.data_command import DataCommand

STRATEGIES = ("singletons-and-pairs", "blocking")


class Command(DataCommand):
    """Blind spots in the shell; see the module."""

    help = (
        "Look for two port mappings that a benchmarking strategy cannot tell apart although another "
        "experiment could, among all mappings of a size; where there are none, none of this size is missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--ports", type=int, required=True, help="ports of the mappings")
        parser.add_argument(
            "--uops",
            type=_counts,
            required=True,
            metavar="N,N,…",
            help="µops of each scheme whose ports are unknown: 1,1,2 for three schemes",
        )
        parser.add_argument("--strategy", choices=STRATEGIES, default=STRATEGIES[0])
        parser.add_argument(
            "--copies", type=int, default=10, help="of each blocking instruction, with --strategy blocking"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a pair of mappings and the experiment that would tell, or that there is none."""
        uops = {f"i{k}": count for k, count in enumerate(options["uops"])}
        found = blind_spot(_experiments(options, list(uops)), ports=options["ports"], uops=uops)
        if options["json"]:
            self.stdout.write(json.dumps(None if found is None else _as_json(found), ensure_ascii=False))
        elif found is None:
            self.stdout.write(
                "None: every two mappings of this size that any experiment tells apart, it does too."
            )
        else:
            self._show(found)

    def _show(self, found: BlindSpot) -> None:
        self.stdout.write("Two port mappings that it measures alike:")
        for scheme in found.first.usage:
            first, second = found.first.describe(scheme), found.second.describe(scheme)
            self.stdout.write(f"  {scheme}: {first}" + ("" if first == second else f"  or  {second}"))
        told = found.told_by
        self.stdout.write(f"What would tell: {told.experiment}: {told.first:g} or {told.second:g} cycles")


def _experiments(options: dict[str, Any], schemes: list[str]) -> list[Experiment]:
    if options["strategy"] == "singletons-and-pairs":
        return list(singletons_and_pairs(schemes))
    asked = [
        experiment
        for scheme in schemes
        for experiment in with_blocking(scheme, [s for s in schemes if s != scheme], options["copies"])
    ]
    return list(dict.fromkeys(asked))


def _as_json(found: BlindSpot) -> dict[str, Any]:
    return {
        "first": _usage(found.first),
        "second": _usage(found.second),
        "told_by": str(found.told_by.experiment),
        "cycles": [found.told_by.first, found.told_by.second],
    }


def _usage(mapping: PortMapping) -> dict[str, str]:
    return {scheme: mapping.describe(scheme) for scheme in mapping.usage}


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"whole numbers with commas between them are wanted, not {text!r}") from None
