"""`manage.py compare`: two port mappings side by side, up to a renaming of ports."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.core.identity import Comparison, Kind
from inference.core.mapping import described
from inference.exchange.comparison_csv import write_comparison_csv
from inference.exchange.errors import ExchangeError
from inference.exchange.names import by_name
from inference.management.data_command import DataCommand
from inference.models import PortMapping
from inference.queries.comparing import Witness, comparison_of, differences_first, summary, witnesses

LISTED = 20  # schemes with different µops that the output names


class Command(DataCommand):
    """Comparisons in the shell; see the module."""

    help = "Compare two port mappings of one instruction set up to a renaming of ports."
    requires_system_checks = ()  # they would load every page of the site first

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("mapping", metavar="MAPPING")
        parser.add_argument("other", metavar="OTHER", help="the mapping whose ports are renamed")
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write every scheme to a file as well")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what is equal and what tells the mappings apart."""
        try:
            row, other = (by_name(PortMapping, options[name]) for name in ("mapping", "other"))
            comparison = comparison_of(row, other)
        except ExchangeError as error:
            raise CommandError(str(error)) from error
        found = witnesses(row, other, comparison)
        if options["csv"] is not None:
            _write(options["csv"], comparison)
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(row, other, comparison, found), ensure_ascii=False))
            return
        self.stdout.write(summary(comparison))
        for line in _told(row, other, comparison, found):
            self.stdout.write(line)


def _told(
    row: PortMapping, other: PortMapping, comparison: Comparison, found: list[Witness]
) -> Iterator[str]:
    renamed = ", ".join(f"{there} is {here or 'none'}" for there, here in _ports(row, other, comparison))
    yield f"Ports of {other.name!r} in {row.name!r}: {renamed}"
    for witness in found:
        said = witness.distinction
        measured = "not measured" if witness.measured is None else f"measured {witness.measured:.3f}"
        yield f"Told apart by {said.experiment}: {said.first:.3f} and {said.second:.3f} cycles, {measured}"
    different = [each for each in differences_first(comparison.schemes) if each.kind is Kind.DIFFERENT]
    for each in different[:LISTED]:
        first, second = (described(uops or (), comparison.ports) for uops in each.uops)
        yield f"  {each.scheme}: {first} | {second}"
    if len(different) > LISTED:
        yield f"  … and {len(different) - LISTED} more; --csv writes them all"


def _ports(row: PortMapping, other: PortMapping, comparison: Comparison) -> list[tuple[str, str | None]]:
    """(port of the other mapping, what the first one calls it or None)."""
    partners = comparison.agreement.renaming.ports
    return [
        (name, None if port is None else row.ports[port])
        for name, port in zip(other.ports, partners, strict=True)
    ]


def _as_json(
    row: PortMapping, other: PortMapping, comparison: Comparison, found: list[Witness]
) -> dict[str, Any]:
    agreement, largest = comparison.agreement, comparison.largest
    return {
        "first": row.name,
        "second": other.name,
        "equal": comparison.are_equal,
        "common": len(agreement.agreeing) + len(agreement.differing),
        "agreeing": len(agreement.agreeing),
        "share": agreement.share,
        "only_first": len(agreement.only_first),
        "only_second": len(agreement.only_second),
        "renaming": dict(_ports(row, other, comparison)),
        "renaming_is_best": agreement.renaming.exact,
        "furthest_apart": None
        if largest is None
        else {"scheme": largest.scheme, "first": largest.cycles[0], "second": largest.cycles[1]},
        "told_apart_by": [
            {
                "experiment": str(witness.distinction.experiment),
                "first": witness.distinction.first,
                "second": witness.distinction.second,
                "measured": witness.measured,
            }
            for witness in found
        ],
    }


def _write(path: Path, comparison: Comparison) -> None:
    text = write_comparison_csv(comparison, differences_first(comparison.schemes))
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
