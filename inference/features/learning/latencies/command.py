"""`manage.py latencies`: measure them on a machine, or print those of a scheme with their chains."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError

from inference.features.learning.latencies.query import (
    instructions_of,
    latencies_xml,
    memory_answer,
    neighbour_words,
    scheme_ids_of,
    simulated_machine_of,
)
from inference.models import LatencySet, Machine, PortMapping, Run
from inference.models.scheme_search import latency_schemes
from inference.runs import lifecycle
from inference.runs.request import DEFAULT_SEED
from inference.storage.documented_latencies import NEAR, documented_share
from inference.storage.names import by_name
from inference.web.data_command import write_file
from inference.web.run_command import (
    SCHEMES_METAVAR,
    RunCommand,
    add_set_option,
    chosen_schemes,
    named_values,
)

_NOISE = ("noise", "outlier_share")


class Command(RunCommand):
    """One run over latencies from start to end, or what one has found; see the module."""

    help = "Measure latencies on a machine, or show those of a scheme. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--machine", metavar="NAME", help="machine that measures")
        what.add_argument(
            "--simulate",
            metavar="NAME",
            help="port mapping of a processor to simulate",
        )
        what.add_argument("--dataset", metavar="NAME", help="a set whose recorded readings are read again")
        what.add_argument("--show", metavar="NAME", help="a set that was measured")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default="",
            help="which schemes, in words or as in the scheme table's search box (default: starter; with "
            "--dataset all that it has)",
        )
        parser.add_argument(
            "--seed", type=int, default=DEFAULT_SEED, metavar="S", help="with --simulate: other latencies"
        )
        add_set_option(parser, f"a setting of the simulation: {', '.join(_NOISE)}")
        parser.add_argument("--scheme", metavar="TEXT", default="", help="with --show: the scheme")
        parser.add_argument(
            "--compare", metavar="NAME", nargs="+", help="with --show: other sets, and how they differ"
        )
        parser.add_argument(
            "--xml", metavar="FILE", type=Path, help="with --show: write XML like uops.info's"
        )
        parser.add_argument(
            "--documented", action="store_true", help="with --show: beside what is documented of the core"
        )
        parser.add_argument(
            "--memory", action="store_true", help="with --show: when the core renames memory, and its stores"
        )
        parser.add_argument("--name", default="", help="name of the run and of its set")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run to the end, or print."""
        if options["show"]:
            self._told_of_set(options)
            return
        if options["compare"] or options["xml"]:
            raise CommandError("--compare and --xml need --show")
        run = self.do_run(lambda: self._submitted(options))
        result = run.result
        answer = {key: result[key] for key in ("schemes", "pairs", "isolated", "bounds")}
        answer |= {"latencies": result["name"], "url": result["url"], "seconds": round(run.busy_seconds, 3)}
        if options["json"]:
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(
            f"latencies {result['name']!r}: {result['pairs']} pairs of {result['schemes']} schemes, "
            f"{result['isolated']} isolated, {result['url']}"
        )

    def _submitted(self, options: dict[str, Any]) -> Run:
        if options["dataset"]:
            recorded = by_name(LatencySet, options["dataset"])
            machine = recorded.machine
            config: dict[str, Any] = {"recorded": recorded.pk, "schemes": scheme_ids_of(recorded)}
        else:
            machine = self._machine(options)
            config = {"machine": machine.pk}
        if options["schemes"] or not options["dataset"]:
            config |= chosen_schemes(machine.isa, options["schemes"] or "starter", latency_schemes)
        name = options["name"] or lifecycle.unused_name(f"Latencies of {machine.name}"[:180])
        return lifecycle.submit("latencies", config, name)

    def _machine(self, options: dict[str, Any]) -> Machine:
        """The machine that measures, or the one that a mapping makes."""
        if options["machine"]:
            return by_name(Machine, options["machine"])
        facts: dict[str, Any] = {"seed": options["seed"]}
        for key, value in named_values(options["overrides"]):
            if key not in _NOISE:
                raise CommandError(f"--set knows {', '.join(_NOISE)}, not {key!r}")
            try:
                facts[key] = float(value)
            except ValueError:
                raise CommandError(f"--set {key} takes a number, not {value!r}") from None
        return simulated_machine_of(by_name(PortMapping, options["simulate"]), facts)

    def _told_of_set(self, options: dict[str, Any]) -> None:
        """What is known of a set: as a file, beside another or what is documented, or as it is."""
        row = by_name(LatencySet, options["show"])
        if options["xml"]:
            write_file(options["xml"], latencies_xml(row).encode())
        if options["compare"]:
            names = (row.name, *options["compare"])
            call_command("compare-latencies", *names, json=options["json"], stdout=self.stdout)
        elif options["memory"]:
            self._show_memory(row, as_json=options["json"])
        elif options["documented"]:
            self._show_documented(row, as_json=options["json"])
        elif not options["xml"]:
            self._show(row, options["scheme"], as_json=options["json"])

    def _show(self, row: LatencySet, scheme: str, *, as_json: bool) -> None:
        rows = row.schemes.select_related("scheme").order_by("scheme__text")
        if scheme:
            rows = rows.filter(scheme__text=scheme)
            if not rows.exists():
                raise CommandError(f"{row.name!r} has no latencies of {scheme!r}")
        rows = rows if scheme or as_json else rows.defer("chains")
        if not as_json:
            self.stdout.write(row.start_values)
        for each in rows.iterator(chunk_size=200):
            if as_json:
                told = {"scheme": each.scheme.text, "pairs": each.pairs_with_chains(), "idioms": each.idioms}
                self.stdout.write(json.dumps(told))
                continue
            self.stdout.write(each.scheme.text)
            for idiom in each.idioms:
                self.stdout.write(f"  {idiom['kind']}: {_idiom(idiom)}")
            for pair in each.pairs_with_chains() if scheme else each.pairs:
                neighbours = f" ({words})" if (words := neighbour_words(pair)) else ""
                self.stdout.write(f"  {pair['source']} → {pair['destination']}: {_cycles(pair)}{neighbours}")
                for one in pair.get("values", ()):
                    with_values = (
                        one["told"] if "immediate" in one else f"{one['values']} values, {one['told']}"
                    )
                    self.stdout.write(f"    {with_values}: {_cycles(one)}")
                for chain in pair["chains"] if scheme else ():
                    code = "; ".join(instructions_of(chain))
                    cycles = chain["note"] if chain["cycles"] is None else f"{chain['cycles']:.3f}"
                    self.stdout.write(f"    {cycles}  {code}")

    def _show_memory(self, row: LatencySet, *, as_json: bool) -> None:
        answer = memory_answer(row)
        if as_json:
            self.stdout.write(json.dumps(answer))
            return
        for sentence in answer["words"] or ["this set has no such measurements: measure latencies again"]:
            self.stdout.write(sentence)

    def _show_documented(self, row: LatencySet, *, as_json: bool) -> None:
        found = documented_share(row)
        if as_json:
            self.stdout.write(json.dumps(None if found is None else found.as_json()))
            return
        if found is None:
            raise CommandError(f"no latencies are documented of the core of {row.machine.name!r}")
        told = f"{found.within} of {found.pairs}"
        self.stdout.write(f"documented pairs within {NEAR:g} cycles: {told} ({found.according_to})")
        for pair in found.off:
            known = _range(pair.documented_least, pair.documented_most)
            measured = pair.why
            if pair.least is not None and pair.most is not None:
                measured = _range(pair.least, pair.most)
            way = f"{pair.scheme}: {pair.source} → {pair.destination}"
            self.stdout.write(f"  {way}: measured {measured}, documented {known}")


def _idiom(idiom: dict[str, Any]) -> str:
    shown = []
    for key in ("measured", "compared"):
        code = "; ".join(instructions_of(idiom[key]))
        shown.append(f"{idiom[key]['cycles']:.3f} cycles ({code})")
    return f"{shown[0]}, compared with {shown[1]}"


def _cycles(pair: dict[str, Any]) -> str:
    """The latency of a pair in words."""
    if pair["least"] is None:
        return pair["why"] if pair["at_most"] is None else f"at most {pair['at_most']:.2f} ({pair['why']})"
    return _range(pair["least"], pair["most"])


def _range(least: float, most: float) -> str:
    return f"{least:.2f}" if least == most else f"{least:.2f} to {most:.2f}"
