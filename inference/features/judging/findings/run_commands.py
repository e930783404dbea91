"""`manage.py check-model` and `llvm-difference`: check the model on a machine, and a mapping against LLVM."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference.core.model_check import AloneVerdict
from inference.features.judging.engine.tables import csv_of, shell_lines
from inference.features.judging.findings.llvm_job import (
    DEFAULT_TOLERANCE,
    DifferenceConfig,
    LlvmDifferenceJob,
    llvm_difference,
    markdown,
)
from inference.features.judging.findings.model_check import (
    TABLES,
    CheckConfig,
    ModelCheck,
    check_effort,
    checked_schemes,
    model_check_of,
    schemes_table,
)
from inference.features.learning.inferring.reference import documented_for
from inference.models import Machine, PortMapping, Run
from inference.runs import lifecycle
from inference.runs.request import DEFAULT_SEED
from inference.storage.export_values import exported_mapping
from inference.storage.names import by_name
from inference.web.data_command import DataCommand, write_file
from inference.web.published_page import PublishedTable
from inference.web.run_command import SCHEMES_METAVAR, RunCommand, chosen_schemes, scheme_count

NO_REFERENCE = "none"
MAX_LISTED = 20  # discrepancies printed; a CSV file has all


class CheckModelCommand(RunCommand):
    help = "Check the port mapping model on a machine. Ctrl-C cancels; what was measured until then is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--machine", metavar="NAME", required=True, help="machine that measures")
        parser.add_argument(
            "--reference",
            metavar="NAME",
            default="",
            help="port mapping to compare with, or none (default: the imported one of the machine's "
            "microarchitecture, if there is one)",
        )
        parser.add_argument(
            "--schemes",
            metavar=SCHEMES_METAVAR,
            default=CheckConfig.default_of("schemes"),
            help="which schemes, in words or as in the scheme table's search box (default: default)",
        )
        numbers = {
            "mixes": "random mixes of each length, 0 for none; the paper has 5,000",
            "sequences": "mixes of each length to measure in several orders, 0 for none; the paper has 500",
            "permutations": "orders of each of these; the paper has 10",
        }
        for name, text in numbers.items():
            usual = CheckConfig.default_of(name)
            parser.add_argument(f"--{name}", type=int, metavar="N", default=usual, help=f"{text} ({usual})")
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, metavar="S", help="of mixes and orders")
        parser.add_argument("--name", default="", help="name of the run and of its experiment sets")
        parser.add_argument(
            "--csv", metavar="FOLDER", default="", help="write schemes.csv, mixes.csv and orders.csv there"
        )
        parser.add_argument("--json", action="store_true", help="end with one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = Path(options["csv"]) if options["csv"] else None
        if folder is not None and not folder.is_dir():
            raise CommandError(f"--csv {options['csv']!r}: there is no such folder")
        run = self.do_run(lambda: self._submit_run(options))
        check = model_check_of(run)
        if folder is not None:
            for name, table in TABLES.items():
                write_file(folder / f"{name}.csv", csv_of(table(check)).encode())
        named = {"run": run.pk, "set": run.result["name"]}
        counted = {key: value for key, value in run.result.items() if key != "name"}
        answer = {**named, **counted, "seconds": round(run.busy_seconds, 3)}
        self.print_answer(answer, shell_lines(_tables(run, check), MAX_LISTED), as_json=options["json"])

    def _submit_run(self, options: dict[str, Any]) -> Run:
        machine = by_name(Machine, options["machine"])
        reference = _reference(machine, options["reference"])
        config = {
            "machine": machine.pk,
            "reference": reference and reference.pk,
            **{key: options[key] for key in ("mixes", "sequences", "permutations", "seed")},
            **chosen_schemes(machine.isa, options["schemes"]),
        }
        run = lifecycle.submit("check-model", config, options["name"])
        complete = CheckConfig(**run.config)
        count = scheme_count(machine.isa, complete.schemes)
        estimate = check_effort(machine, count, complete.mixes, complete.sequences, complete.permutations)
        against = "1/n cycles" if reference is None else f"{reference.name!r}"
        self.stderr.write(
            f"compared with {against}; at most {estimate.experiments} experiments, "
            f"{estimate.seconds:.0f} s of measuring"
        )
        return run


def _reference(machine: Machine, name: str) -> PortMapping | None:
    if name == NO_REFERENCE:
        return None
    return by_name(PortMapping, name) if name else documented_for(machine)


def _tables(run: Run, check: ModelCheck) -> list[PublishedTable]:
    """The tables of the run's page, with the discrepancies among the schemes."""
    counted = check.summary
    share = "" if counted.share is None else f" ({100 * counted.share:.1f} %)"
    verdicts = "".join(
        f", {count} {verdict.value}"
        for verdict, count in counted.verdicts.items()
        if count and verdict is not AloneVerdict.WITHIN
    )
    title = f"{counted.within} of {counted.compared} schemes within 10 %{share}{verdicts}"
    wrong = checked_schemes(run, check, AloneVerdict.DISCREPANCY, "")
    schemes = replace(schemes_table(wrong), title=title)
    return [schemes, *(TABLES[name](check) for name in ("mixes", "orders"))]


class LlvmDifferenceCommand(DataCommand):
    help = "Compare a port mapping of x86-64 with LLVM's scheduling model, and write a report in Markdown."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("mapping", metavar="NAME", help="a port mapping")
        parser.add_argument("--release", default="", help="major version of llvm-mca (default: the newest)")
        parser.add_argument(
            "--cpu", default="", help="processor for -mcpu (default: that of the mapping's machine)"
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=DEFAULT_TOLERANCE,
            metavar="SHARE",
            help="report larger relative differences (default: %(default)s)",
        )
        parser.add_argument(
            "--output", type=Path, metavar="FILE", help="write to a file instead of the standard output"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        row = by_name(PortMapping, options["mapping"])
        cpu = options["cpu"] or exported_mapping(row).tools.llvm
        if not cpu:
            raise CommandError(
                "LLVM's name of the mapping's processor is unknown: give it with --cpu, e.g. haswell"
            )
        config = {"mapping": row.pk, "cpu": cpu, **{name: options[name] for name in ("release", "tolerance")}}
        checked = DifferenceConfig.from_stored(LlvmDifferenceJob().check(config))
        self.write_output(markdown(llvm_difference(row, checked)), options["output"])
