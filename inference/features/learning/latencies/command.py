"""`manage.py latencies`: measures latencies on a machine, or prints those of a scheme with their chains."""

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
    neighbour_text,
    scheme_ids_of,
    simulated_machine_of,
)
from inference.models import LatencySet, Machine, PortMapping, Run
from inference.models.scheme_search import latency_schemes
from inference.runs import lifecycle
from inference.runs.request import DEFAULT_SEED
from inference.storage.latencies import NEAR, documented_share
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
    """Runs a measurement of latencies to its end, or prints a stored set."""

    help = "Measure latencies on a machine, or show those of a scheme. Ctrl-C cancels."

    def add_arguments(self, parser: ArgumentParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--machine", metavar="NAME", help="machine that measures")
        source.add_argument("--simulate", metavar="NAME", help="port mapping of a processor to simulate")
        source.add_argument(
            "--dataset", metavar="NAME", help="a set whose recorded readings are evaluated again"
        )
        source.add_argument("--show", metavar="NAME", help="a set that was measured")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default="",
            help="schemes, by a word or a search as in the scheme table (default: starter; with --dataset "
            "all of the set)",
        )
        parser.add_argument(
            "--seed", type=int, default=DEFAULT_SEED, metavar="S", help="with --simulate: latencies' seed"
        )
        add_set_option(parser, f"a setting of the simulation: {', '.join(_NOISE)}")
        parser.add_argument("--scheme", metavar="TEXT", default="", help="with --show: the scheme")
        parser.add_argument("--compare", metavar="NAME", nargs="+", help="with --show: sets to compare with")
        parser.add_argument(
            "--xml", metavar="FILE", type=Path, help="with --show: write XML like uops.info's"
        )
        parser.add_argument(
            "--documented", action="store_true", help="with --show: compare with documented latencies"
        )
        parser.add_argument(
            "--memory", action="store_true", help="with --show: conditions of memory renaming, and stores"
        )
        parser.add_argument("--name", default="", help="name of the run and of its set")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["show"]:
            self._print_set(options)
            return
        if options["compare"] or options["xml"]:
            raise CommandError("--compare and --xml need --show")
        run = self.do_run(lambda: self._submit(options))
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

    def _submit(self, options: dict[str, Any]) -> Run:
        if options["dataset"]:
            recorded = by_name(LatencySet, options["dataset"])
            machine = recorded.machine
            config: dict[str, Any] = {"recorded": recorded.pk, "schemes": scheme_ids_of(recorded)}
        else:
            machine = self._machine(options)
            config = {"machine": machine.pk}
        if options["schemes"] or not options["dataset"]:
            config |= chosen_schemes(machine.isa, options["schemes"] or "starter", latency_schemes)
        return lifecycle.submit("latencies", config, options["name"])

    def _machine(self, options: dict[str, Any]) -> Machine:
        """The machine that measures, or a simulated one of a mapping."""
        if options["machine"]:
            return by_name(Machine, options["machine"])
        facts: dict[str, Any] = {"seed": options["seed"]}
        for key, value in named_values(options["overrides"]):
            if key not in _NOISE:
                raise CommandError(f"--set has no option {key!r}; it has {', '.join(_NOISE)}")
            try:
                facts[key] = float(value)
            except ValueError:
                raise CommandError(f"--set {key} takes a number, not {value!r}") from None
        return simulated_machine_of(by_name(PortMapping, options["simulate"]), facts)

    def _print_set(self, options: dict[str, Any]) -> None:
        """Prints a set: as a file, compared with others or documented latencies, or as it is."""
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
        for line in rows.iterator(chunk_size=200):
            if as_json:
                answer = {
                    "scheme": line.scheme.text,
                    "pairs": line.pairs_with_chains(),
                    "idioms": line.idioms,
                }
                self.stdout.write(json.dumps(answer))
                continue
            self.stdout.write(line.scheme.text)
            for idiom in line.idioms:
                self.stdout.write(f"  {idiom['kind']}: {_idiom(idiom)}")
            for pair in line.pairs_with_chains() if scheme else line.pairs:
                neighbours = f" ({words})" if (words := neighbour_text(pair)) else ""
                self.stdout.write(f"  {pair['source']} → {pair['destination']}: {_cycles(pair)}{neighbours}")
                for case in pair.get("values", ()):
                    with_values = (
                        case["told"] if "immediate" in case else f"{case['values']} values, {case['told']}"
                    )
                    self.stdout.write(f"    {with_values}: {_cycles(case)}")
                for chain in pair["chains"] if scheme else ():
                    code = "; ".join(instructions_of(chain))
                    cycles = chain["note"] if chain["cycles"] is None else f"{chain['cycles']:.3f}"
                    self.stdout.write(f"    {cycles}  {code}")

    def _show_memory(self, row: LatencySet, *, as_json: bool) -> None:
        answer = memory_answer(row)
        if as_json:
            self.stdout.write(json.dumps(answer))
            return
        for sentence in answer["words"] or ["no measurements of memory: measure latencies again"]:
            self.stdout.write(sentence)

    def _show_documented(self, row: LatencySet, *, as_json: bool) -> None:
        share = documented_share(row)
        if as_json:
            self.stdout.write(json.dumps(None if share is None else share.as_json()))
            return
        if share is None:
            raise CommandError(f"the core of {row.machine.name!r} has no documented latencies")
        count = f"{share.within} of {share.pairs}"
        self.stdout.write(f"documented pairs within {NEAR:g} cycles: {count} ({share.according_to})")
        for pair in share.off:
            documented = _range(pair.documented_least, pair.documented_most)
            measured = pair.why
            if pair.least is not None and pair.most is not None:
                measured = _range(pair.least, pair.most)
            pair_text = f"{pair.scheme}: {pair.source} → {pair.destination}"
            self.stdout.write(f"  {pair_text}: measured {measured}, documented {documented}")


def _idiom(idiom: dict[str, Any]) -> str:
    codes = []
    for key in ("measured", "compared"):
        code = "; ".join(instructions_of(idiom[key]))
        codes.append(f"{idiom[key]['cycles']:.3f} cycles ({code})")
    return f"{codes[0]}, compared with {codes[1]}"


def _cycles(pair: dict[str, Any]) -> str:
    """The latency of a pair as text: cycles, a bound, or why there is none."""
    if pair["least"] is None:
        return pair["why"] if pair["at_most"] is None else f"at most {pair['at_most']:.2f} ({pair['why']})"
    return _range(pair["least"], pair["most"])


def _range(lowest: float, highest: float) -> str:
    return f"{lowest:.2f}" if lowest == highest else f"{lowest:.2f} to {highest:.2f}"
