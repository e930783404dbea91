"""`manage.py know`: ports and slots, explained µops, latencies, front end and scheduler of a machine."""

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
    """One run over a whole core from start to end; see the module."""

    help = "Find out how a machine's core works. Ctrl-C cancels; what is done is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default="starter",
            help="which schemes, in words or as in the scheme table's search box (default: starter)",
        )
        parser.add_argument(
            "--blocks", metavar="SET", default="", help="also the schemes that occur in a set of basic blocks"
        )
        add_request_options(parser, KnowConfig, minutes="how long it may take (default: %(default)s)")
        parser.add_argument("--name", default="", help="what the names of the run and its parts begin with")
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        run = self.do_run(lambda: self._submitted(options))
        stages = run.result["stages"]
        model = StoredCoreModel.objects.filter(run=run).select_related("mapping").first()
        mapping = None if model is None or model.mapping is None else model.mapping.name
        if options["json"]:
            made = {stage["stage"]: stage["made"] for stage in stages}
            answer = {
                "mapping": mapping,
                "latencies": made["latencies"],
                "front_end": made["front_end"],
                "core_model": None if model is None else model.name,
                "selection": None if model is None else model.selection,
                "seconds": round(run.busy_seconds, 3),
                "stages": stages,
            }
            self.stdout.write(json.dumps(answer))
            return
        for stage in stages:
            kept = f"; kept: {', '.join(stage['kept'])}" if stage["kept"] else ""
            told = f"{stage['made']}, {stage['url']}" if stage["made"] else f"{stage['error']}{kept}"
            self.stdout.write(f"{stage['label']}: {told}")
        if model is not None and mapping is not None:
            why = f", {model.selection['why']}" if model.selection else ""
            self.stdout.write(f"Port mapping of the core model: {mapping}{why}")

    def _submitted(self, options: dict[str, Any]) -> Run:
        machine = by_name(Machine, options["machine"])
        chosen = self._chosen(machine, options["schemes"], options["blocks"])
        config = {"machine": machine.pk, "minutes": options["minutes"], **chosen}
        return lifecycle.submit("know", config, options["name"] or lifecycle.unused_name(machine.name[:180]))

    def _chosen(self, machine: Machine, selection: str, blocks: str) -> dict[str, Any]:
        """The schemes of a selection, and those of a set of blocks that can be measured."""
        chosen = chosen_schemes(machine.isa, selection)
        if not blocks:
            return chosen
        try:
            texts = scheme_texts(blocks)
        except LookupError as error:
            raise CommandError(f"--blocks: {error}") from error
        if not isinstance(chosen["schemes"], list):
            raise CommandError("--blocks adds to a selection of schemes: not to probes or all")
        able = machine.isa.schemes.filter(Q(exclusion="") | CHAINABLE)
        target = code_target(machine.isa.name)
        work_of_others = target.schemes.work_of_others
        same = set(itertools.chain.from_iterable(work_of_others.get(text, ()) for text in texts))
        more = able.filter(text__in={*texts, *same}).values_list("pk", flat=True)
        others = machine.isa.schemes.filter(text__in=texts).exclude(pk__in=more)
        instead = _measured_instead(target, others.values_list("text", flat=True), able)
        return {**chosen, "schemes": sorted({*chosen["schemes"], *more, *instead})}


def _measured_instead(
    target: IsaTarget, texts: Iterable[str], able: QuerySet[InstructionScheme]
) -> list[int]:
    """What schemes that cannot be measured may be taken for: `vmovdqu` for `movdqu`."""
    missing = [*filter(None, map(target.schemes.scheme_of, texts))]
    names = {name for one in missing for name in (one.mnemonic, f"v{one.mnemonic}")}
    rows = dict(able.filter(mnemonic__in=names).values_list("text", "pk"))
    known = [*filter(None, map(target.schemes.scheme_of, rows))]
    taken = (nearest_scheme(one, known) for one in missing)
    return [rows[one.text] for one in taken if one is not None]
