"""`manage.py know`: profiles a machine's core: ports and slots, explained µops, latencies, front end,
scheduler.
"""

from __future__ import annotations

import itertools
import json
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q, QuerySet

from inference.core.core_model import nearest_scheme
from inference.features.learning.know.request import KnowConfig
from inference.isa.target import IsaTarget
from inference.isa.targets import code_target
from inference.models import InstructionScheme, Machine, Run, StoredCoreModel
from inference.models.scheme_search import CHAINABLE
from inference.runs import lifecycle
from inference.storage.block_sets import scheme_texts
from inference.storage.names import by_name
from inference.web.data_command import add_request_options
from inference.web.run_command import SCHEMES_METAVAR, RunCommand, chosen_schemes


class Command(RunCommand):
    help = "Profile a machine's core. Ctrl-C cancels; finished parts are kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default="starter",
            help="schemes, by a word or a search as in the scheme table (default: starter)",
        )
        parser.add_argument(
            "--blocks", metavar="SET", default="", help="also the schemes of a set of basic blocks"
        )
        add_request_options(parser, KnowConfig, minutes="time limit in minutes (default: %(default)s)")
        parser.add_argument(
            "--measure-again",
            action="store_true",
            help="reuse no earlier results, also where schemes, computer and program are the same",
        )
        parser.add_argument("--name", default="", help="prefix of the names of the run and its parts")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        run = self.do_run(lambda: self._submit(options))
        stages = run.result["stages"]
        model = StoredCoreModel.objects.filter(run=run).select_related("mapping").first()
        mapping = None if model is None or model.mapping is None else model.mapping.name
        if options["json"]:
            names = {stage["stage"]: stage["made"] for stage in stages}
            answer = {
                "mapping": mapping,
                "latencies": names["latencies"],
                "front_end": names["front_end"],
                "core_model": None if model is None else model.name,
                "selection": None if model is None else model.selection,
                "seconds": round(run.busy_seconds, 3),
                "stages": stages,
            }
            self.stdout.write(json.dumps(answer))
            return
        for stage in stages:
            sets = f"; kept: {', '.join(stage['kept'])}" if stage["kept"] else ""
            outcome = f"{stage['made']}, {stage['url']}" if stage["made"] else f"{stage['error']}{sets}"
            self.stdout.write(f"{stage['label']}: {outcome}")
        if model is not None and mapping is not None:
            reason = f", {model.selection['why']}" if model.selection else ""
            self.stdout.write(f"Port mapping of the core model: {mapping}{reason}")

    def _submit(self, options: dict[str, Any]) -> Run:
        machine = by_name(Machine, options["machine"])
        selection = self._select_schemes(machine, options["schemes"], options["blocks"])
        limits = {"minutes": options["minutes"], "measure_again": options["measure_again"]}
        config = {"machine": machine.pk, **limits, **selection}
        return lifecycle.submit("know", config, options["name"])

    def _select_schemes(self, machine: Machine, selection: str, blocks: str) -> dict[str, Any]:
        """The schemes of a selection, and the measurable schemes of a set of blocks."""
        selected = chosen_schemes(machine.isa, selection)
        if not blocks:
            return selected
        try:
            texts = scheme_texts(blocks)
        except LookupError as error:
            raise CommandError(f"--blocks: {error}") from error
        if not isinstance(selected["schemes"], list):
            raise CommandError("--blocks adds to a selection of schemes, not to probes or all")
        measurable = machine.isa.schemes.filter(Q(exclusion="") | CHAINABLE)
        target = code_target(machine.isa.name)
        equivalents = target.schemes.equivalent_schemes
        equivalent_texts = set(itertools.chain.from_iterable(equivalents.get(text, ()) for text in texts))
        ids = measurable.filter(text__in={*texts, *equivalent_texts}).values_list("pk", flat=True)
        unmeasurable = machine.isa.schemes.filter(text__in=texts).exclude(pk__in=ids)
        substitutes = _substitutes(target, unmeasurable.values_list("text", flat=True), measurable)
        return {**selected, "schemes": sorted({*selected["schemes"], *ids, *substitutes})}


def _substitutes(
    target: IsaTarget, texts: Iterable[str], measurable: QuerySet[InstructionScheme]
) -> list[int]:
    """The ids of the nearest measurable schemes for unmeasurable ones: `vmovdqu` for `movdqu`."""
    missing = [*filter(None, map(target.schemes.scheme_of, texts))]
    names = {name for scheme in missing for name in (scheme.mnemonic, f"v{scheme.mnemonic}")}
    rows = dict(measurable.filter(mnemonic__in=names).values_list("text", "pk"))
    candidates = [*filter(None, map(target.schemes.scheme_of, rows))]
    nearest = (nearest_scheme(scheme, candidates) for scheme in missing)
    return [rows[scheme.text] for scheme in nearest if scheme is not None]
