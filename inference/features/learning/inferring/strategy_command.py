"""`manage.py check-strategy`: searches mappings that a fixed set of experiments cannot distinguish."""

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
    """Prints a blind spot of a benchmarking strategy, or that there is none."""

    help = (
        "Search two port mappings that a benchmarking strategy cannot distinguish although another "
        "experiment could, among all mappings of a size; without any, the strategy is complete for this size."
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
        uops = {f"i{k}": count for k, count in enumerate(options["uops"])}
        pair = blind_spot(_experiments(options, list(uops)), ports=options["ports"], uops=uops)
        if options["json"]:
            self.stdout.write(json.dumps(None if pair is None else _as_json(pair), ensure_ascii=False))
        elif pair is None:
            self.stdout.write("None: it distinguishes all mappings of this size that any experiment can.")
        else:
            self._show(pair)

    def _show(self, pair: BlindSpot) -> None:
        self.stdout.write("Two port mappings with equal times:")
        for scheme in pair.first.usage:
            first, second = pair.first.describe(scheme), pair.second.describe(scheme)
            self.stdout.write(f"  {scheme}: {first}" + ("" if first == second else f"  or  {second}"))
        test = pair.distinction
        self.stdout.write(f"Distinguished by {test.experiment}: {test.first:g}, {test.second:g} cycles")


def _experiments(options: dict[str, Any], schemes: list[str]) -> list[Experiment]:
    if options["strategy"] == "singletons-and-pairs":
        return list(singletons_and_pairs(schemes))
    experiments = [
        experiment
        for scheme in schemes
        for experiment in with_blocking(scheme, [s for s in schemes if s != scheme], options["copies"])
    ]
    return list(dict.fromkeys(experiments))


def _as_json(pair: BlindSpot) -> dict[str, Any]:
    return {
        "first": _usage(pair.first),
        "second": _usage(pair.second),
        "told_by": str(pair.distinction.experiment),
        "cycles": [pair.distinction.first, pair.distinction.second],
    }


def _usage(mapping: PortMapping) -> dict[str, str]:
    return {scheme: mapping.describe(scheme) for scheme in mapping.usage}


def _counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"expected whole numbers separated by commas, not {text!r}") from None
