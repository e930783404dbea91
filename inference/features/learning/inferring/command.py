"""`manage.py infer`: infers a port mapping; see `run_command`."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.core.explain import SchemeFate
from inference.core.mapping import described
from inference.core.protocols import Json
from inference.features.learning.inferring.algorithms import ALGORITHMS
from inference.features.learning.inferring.request import InferConfig
from inference.formats.scheme_lists import read_counts, read_names, read_ports
from inference.measuring.simulated import NOISE_OPTIONS
from inference.models import ISA, ExperimentSet, Machine, PortMapping, Run
from inference.models.scheme_search import PROBE_SELECTION
from inference.runs import lifecycle
from inference.storage.evidence import Evidence
from inference.storage.importing import commit, preview
from inference.storage.instruction_sets import unknown_schemes
from inference.storage.judging import allowed_result, grounds_of, search_verdict
from inference.storage.mappings import load_mapping
from inference.storage.names import by_name, free_name
from inference.web.data_command import add_request_options
from inference.web.run_command import (
    SCHEMES_METAVAR,
    RunCommand,
    add_set_option,
    chosen_schemes,
    named_values,
)

OPTIONAL_KEYS = (
    *("kinds", "limits", "assumptions", "excess"),
    *("verdict", "counter_examples", "alternatives", "ambiguous", "dropped"),  # by CEGAR
    *("classes", "exhaustive", "front"),  # by PMEvo
    *("asked", *(outcome.value for outcome in SchemeFate), "per_scheme", "warnings"),  # by explaining
)
"""Optional keys of a run's result that `--json` prints."""


class Command(RunCommand):
    help = "Infer a port mapping from recorded data, a machine, or a simulated processor. Ctrl-C cancels."
    makes_data = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--algorithm", choices=list(ALGORITHMS), required=True)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--machine", metavar="NAME", help="machine that measures")
        source.add_argument(
            "--dataset", metavar="NAME", action="append", help="experiment set to learn from; repeatable"
        )
        source.add_argument(
            "--simulate", metavar="NAME-OR-FILE", help="port mapping of a processor to simulate"
        )
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default="",
            help="schemes, by a word or a search as in the scheme table (all; on a machine: starter)",
        )
        add_request_options(
            parser,
            InferConfig,
            sample="N: at most N schemes, spread evenly over the selection; not with --dataset",
            ports="N: number of ports; by default, the search finds it",
            seed="S: default: %(default)s",
        )
        parser.add_argument("--name", default="", help="name of the run and of its mapping")
        parser.add_argument(
            "--evaluate", metavar="NAME", help="experiment set to judge by, instead of held-out experiments"
        )
        add_set_option(parser, f"a setting of the algorithm or simulation: {', '.join(NOISE_OPTIONS)}")
        parser.add_argument(
            "--mixes", type=int, metavar="N", help="experiments to measure and judge by, unless --evaluate"
        )
        parser.add_argument(
            "--no-bottleneck",
            action="store_true",
            help="do not measure R_max on a machine; PMEvo then takes it from the data, unless --set r_max=…",
        )
        group = parser.add_argument_group(
            "facts about schemes", "for --algorithm cegar and explain; - is standard input"
        )
        group.add_argument("--levels", type=int, choices=(2, 3), help="2: every scheme has a single µop")
        group.add_argument("--uops", metavar="FILE", help="lines 'scheme: number of its µops'")
        group.add_argument("--width", metavar="FILE", help="lines 'scheme: size of its port set'")
        group.add_argument(
            "--improper", metavar="FILE", help="a line per scheme that shares a µop with another (§6.3.4)"
        )
        group.add_argument(
            "--documented",
            metavar="FILE",
            help="lines 'scheme: its ports', which decide where measurements cannot, and name the ports",
        )
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with a code other than 0 unless there is a mapping."""
        self._conclude(self.do_run(lambda: self._submit(options)), as_json=options["json"])

    def _submit(self, options: dict[str, Any]) -> Run:
        source, isa = self._source(options)
        noise, settings = _split_settings(options["overrides"])
        if noise and "simulate" not in source:
            raise CommandError(f"--set {next(iter(noise))} needs --simulate")
        config: Json = {
            "algorithm": options["algorithm"],
            "source": source | noise,
            "settings": settings,
            "seed": options["seed"],
            "bottleneck": not options["no_bottleneck"],
            **chosen_schemes(isa, options["schemes"] or _default_selection(source, options["algorithm"])),
        }
        if facts := _read_facts(options, isa):
            config["known"] = facts
        numbers = ("ports", "sample", "mixes")
        config |= {name: options[name] for name in numbers if options[name] is not None}
        if options["evaluate"]:
            config["evaluate"] = by_name(ExperimentSet, options["evaluate"]).pk
        return lifecycle.submit("infer", config, options["name"])

    def _source(self, options: dict[str, Any]) -> tuple[Json, ISA]:
        """(source of the configuration, instruction set)."""
        if options["machine"] is not None:
            machine = by_name(Machine, options["machine"])
            return {"machine": machine.pk}, machine.isa
        if options["dataset"] is not None:
            sets = [by_name(ExperimentSet, name) for name in options["dataset"]]
            return {"datasets": [row.pk for row in sets]}, sets[0].isa
        simulated = options["simulate"]
        if not PortMapping.objects.filter(name=simulated).exists() and Path(simulated).is_file():
            mapping = self._import(Path(simulated))
        else:
            mapping = by_name(PortMapping, simulated)
        return {"simulate": mapping.pk}, mapping.isa

    def _import(self, path: Path) -> PortMapping:
        """Imports the mapping of a file, so that results can be compared with it."""
        upload = preview(path.read_bytes(), path.name)
        if not upload.acceptable:
            raise CommandError("\n".join(["nothing was imported", *upload.parsed.lines()]))
        if upload.parsed.mapping is None:
            raise CommandError(f"{path} has experiments; --simulate needs a port mapping")
        row = commit(upload, free_name(PortMapping, upload.name)).row
        assert isinstance(row, PortMapping)
        self.stderr.write(f"{path} imported as the port mapping {row.name!r}")
        return row

    def _conclude(self, run: Run, *, as_json: bool) -> None:
        result = allowed_result(run)
        answer = {
            "mapping": result["name"],
            "url": result["url"],
            "schemes": result["schemes"],
            "experiments": result["experiments"],
            "seconds": round(run.busy_seconds, 3),
            "held_out": result["held_out"],
            **{key: result[key] for key in OPTIONAL_KEYS if key in result},
        }
        if as_json:
            self.stdout.write(json.dumps(answer))
            return
        self.stdout.write(f"port mapping {answer['mapping']!r}: {answer['schemes']} schemes, {answer['url']}")
        scores = answer["held_out"]
        if scores is not None and scores["mape"] is not None:
            self.stdout.write(f"  MAPE {scores['mape']:.2f} % on {scores['n']} held-out experiments")
        if scores is not None and "settled_share" in scores:
            self.stdout.write(f"  {100 * scores['settled_share']:.1f} % of the test mixes settled")
        if "characterised" in result:
            self.stdout.write(
                f"  of {result['asked']} schemes {result['characterised']} characterised, "
                f"{result['excluded']} excluded with a reason, {result['ambiguous']} ambiguous; witnesses: "
                f"manage.py explain {shlex.quote(answer['mapping'])}"
            )
            for warning in result["warnings"]:
                self.stdout.write(f"  note: {warning}")
        if front := result.get("front"):
            kinds = [point["kinds"] for point in front]
            self.stdout.write(
                f"  {len(front)} mappings by accuracy and size, {min(kinds)} to {max(kinds)} distinct µops: "
                f"manage.py front {shlex.quote(answer['mapping'])}"
            )
        self._explain(PortMapping.objects.get(pk=result["mapping"]))

    def _explain(self, row: PortMapping) -> None:
        """Prints the verdict of a search by counter-examples, and what remains open."""
        evidence = Evidence.of(row.report)
        if evidence is None:
            return
        value = load_mapping(row)
        self.stdout.write(search_verdict(row, evidence).words)
        grounds = grounds_of(row)
        for scheme, uops in value.usage.items():
            self.stdout.write(f"  {scheme}: {described(uops, value.ports)}")
            for words in grounds.conflict_words(scheme):
                self.stdout.write(f"    {words}")
        for doubt in evidence.doubts(value):
            for other in doubt.alternatives:
                why = "; ".join(other.reasons)
                self.stdout.write(f"  or {doubt.scheme}: {described(other.uops, value.ports)}, since {why}")
        for deviation in evidence.unexplained:
            self.stdout.write(f"  unexplained: {deviation}")
        for clash in evidence.clashes:
            self.stdout.write(f"  left out {'; '.join(clash['dropped'])}: {clash['text']}")
        self.stdout.write(f"  {evidence.counter_examples} counter-examples, {evidence.solver}")


def _read_facts(options: dict[str, Any], isa: ISA) -> Json:
    """The facts in the files. Raises `CommandError` naming file, line and scheme."""
    readers: dict[str, Callable[[str], tuple[Any, Sequence[str]]]] = {
        "uops": read_counts,
        "width": read_counts,
        "improper": read_names,
        "documented": read_ports,
    }
    known_facts: Json = {}
    for option, read in readers.items():
        if not options[option]:
            continue
        facts, problems = read(_text(options[option]))
        problems = [*problems, *unknown_schemes(facts, isa)]
        if problems:
            raise CommandError("\n".join(f"{options[option]}: {problem}" for problem in problems))
        known_facts[{"width": "widths"}.get(option, option)] = facts
    three_level = any(count > 1 for count in known_facts.get("uops", {}).values())
    if options["levels"] == 2 and three_level:
        raise CommandError("--levels 2: every scheme has a single µop, but --uops says otherwise")
    if options["levels"] == 3 and not three_level:
        raise CommandError("--levels 3 needs --uops with the schemes of more than one µop")
    return known_facts


def _text(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error


def _default_selection(source: Json, algorithm: str) -> str:
    """The default selection: on a computer, what is measured within minutes."""
    if "machine" not in source:
        return "all"
    simulated = Machine.objects.filter(pk=source["machine"], kind=Machine.Kind.SIMULATED).exists()
    if simulated:
        return "default"
    if ALGORITHMS[algorithm].explores:
        return "default"
    return PROBE_SELECTION if ALGORITHMS[algorithm].exact else "starter"


def _split_settings(overrides: list[str]) -> tuple[Json, Json]:
    """(settings of the simulation, settings of the algorithm) of `--set` options."""
    noise: Json = {}
    settings: Json = {}
    for key, value in named_values(overrides):
        if key not in NOISE_OPTIONS:
            settings[key] = value
            continue
        if key == "counters":
            noise[key] = value
            continue
        try:
            noise[key] = float(value)
        except ValueError:
            raise CommandError(f"--set {key}: expected a number, not {value!r}") from None
    return noise, settings
