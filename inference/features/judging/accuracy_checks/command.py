"""`manage.py accuracy`: how good everything that predicts blocks is on a machine."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from inference.core.protocols import Json
from inference.features.asking.predictors.query import chosen
from inference.features.judging.accuracy_checks.query import check_of
from inference.features.judging.accuracy_checks.request import KIND, AccuracyCheckConfig
from inference.features.judging.accuracy_checks.result import all_checked, error_of, judgement_of
from inference.isa.blocks.listing import intel_or_digits
from inference.isa.targets import DEFAULT
from inference.measuring.blocks import MODES
from inference.models import BasicBlockSet, Machine, Run
from inference.runs import lifecycle
from inference.storage.names import by_name
from inference.web.run_command import RunCommand

_WORST = 5
_TRAITS = 5


class Command(RunCommand):
    help = (
        "Measure basic blocks of a set on a machine, and score its core model, its mappings and all "
        "tools against that: by component, with the worst blocks and what they have in common."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("block_set", metavar="SET", help="a basic-block set")
        parser.add_argument("--machine", required=True, metavar="NAME")
        usual = AccuracyCheckConfig.usual
        parser.add_argument(
            "--blocks",
            type=int,
            default=usual("blocks"),
            metavar="N",
            help=f"at most, drawn from the set; default: {usual('blocks')}",
        )
        parser.add_argument("--seed", type=int, default=usual("seed"), metavar="S")
        parser.add_argument("--mode", choices=MODES, default=usual("mode"))
        parser.add_argument(
            "--rounds",
            type=int,
            default=usual("rounds"),
            metavar="N",
            help=f"how often each block is measured: the median counts; default: {usual('rounds')}",
        )
        parser.add_argument(
            "--predictor",
            action="append",
            default=[],
            dest="predictors",
            metavar="NAME",
            help="ask this one; without, all that suit the machine. As `manage.py predictors` lists them",
        )
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the run and print what it found."""
        run = self.do_run(lambda: _submitted(options))
        found = check_of(run)
        assert found is not None, "it is done"
        if options["json"]:
            told = {"run": run.pk, "block_set": run.result["block_set"], **found}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            return
        for line in check_lines(found):
            self.stdout.write(line)
        self.stdout.write(f"/accuracy/{run.pk}/ has all of it")


def check_lines(found: Json) -> Iterator[str]:
    rounds = f", median of {found['rounds']} rounds" if found["rounds"] > 1 else ""
    yield (
        f"{found['measured']:,} of {found['blocks']:,} blocks of {found['source']} measured on "
        f"{found['machine']}, {found['mode']}{rounds}"
    )
    floor = found["floor"] or {}
    if floor.get("mape") is not None:
        aside = f", {floor['set_aside']:,} disturbed ones set aside" if floor["set_aside"] else ""
        yield f"  measured once more, off by {floor['mape']:.2f} %{aside}: no prediction can be nearer"
    for one in all_checked(found):
        yield f"  {one['name']}: {_scores(one, found['blocks'])}"
        judgement = judgement_of(one)
        if judgement is not None:
            yield f"    {judgement.in_words}"
    for name, reason in found["unasked"].items():
        yield f"  {name}: left out, {reason}"
    for one in found["predictors"][:1]:
        yield from _details(one)


def _details(one: Json) -> Iterator[str]:
    """What a predictor is bad at."""
    name = one["name"]
    yield f"{name}, by the largest bound of the core model"
    for part in one["bounds"]:
        yield (
            f"  {part['bound']}: {part['n']:,} blocks, MAPE {part['mape']:.1f} %, "
            f"median {part['median']:.1f} %"
        )
    yield f"{name}, what goes with large errors (of {one['traits']['tried']} traits)"
    for trait in one["traits"]["found"][:_TRAITS]:
        yield (
            f"  {trait['kind']} {trait['name']}: {trait['n']:,} blocks, median error "
            f"{trait['inside']:.1f} % instead of {trait['outside']:.1f} %"
        )
    yield f"{name}, worst blocks"
    for block in one["worst"][:_WORST]:
        numbers = f"{block['measured']:.2f} → {block['said']:.2f}"
        yield f"  {error_of(block):+7.1f} %  {numbers}  {_assembly(block)}"


def _scores(one: Json, blocks: int) -> str:
    scores = one["scores"]
    share = 100 * one["answered"] / blocks if blocks else 0.0
    if scores["mape"] is None:
        return f"{share:.0f} % answered"
    kendall = "–" if scores["kendall"] is None else f"{scores['kendall']:.3f}"
    return (
        f"{share:.0f} % answered, MAPE {scores['mape']:.2f} %, median {one['median']:.2f} %, τ {kendall}, "
        f"{100 * one['near']:.0f} % within 10 %, {100 * one['above']:.1f} % more than 3 % above"
    )


def _assembly(block: Json) -> str:
    return "; ".join(intel_or_digits(bytes.fromhex(block["hex"]), block.get("isa", DEFAULT)))


def _submitted(options: dict[str, Any]) -> Run:
    row = by_name(BasicBlockSet, options["block_set"])
    machine = by_name(Machine, options["machine"])
    predictors = [chosen(name, may_choose=True).pk for name in options["predictors"]]
    config: Json = {
        "machine": machine.pk,
        "block_set": row.pk,
        "predictors": predictors,
        **{name: options[name] for name in ("blocks", "seed", "mode", "rounds")},
    }
    return lifecycle.submit(KIND, config, lifecycle.unused_name(f"Accuracy on {machine.name}"[:180]))
