"""`manage.py simulate-agent`: an agent with a simulated processor or core, for demos and tests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from argparse import SUPPRESS, ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from inference import __version__
from inference.agent import token
from inference.agent.connection import AddressError
from inference.agent.passes import Harness
from inference.agent.reading import ProtocolError
from inference.agent.session import AgentRefusedError, run_agent
from inference.core.errors import InvalidInputError
from inference.core.mapping import PortMapping
from inference.core.protocols import Json
from inference.formats.core_model_json import core_model_json, core_model_text, read_core_model
from inference.formats.parsing import AnyNames, parse
from inference.formats.problems import ExchangeError
from inference.isa.targets import DEFAULT, FOLDERS
from inference.measuring.rvsim_core import IN_ORDER, RvsimCore
from inference.measuring.simulated import COUNTERS, NOTHING
from inference.measuring.simulated_agent import SimulatedHarness, executing_facts, simulated_facts
from inference.measuring.simulated_core.core import ExecutingCore, ExecutingHarness, SimulatedCore
from inference.measuring.simulated_core.sampled import sampled_core
from inference.models import PortMapping as PortMappingRow
from inference.models import StoredCoreModel
from inference.predictors.llvm.core_tables import modelled_core
from inference.predictors.llvm.mca_settings import McaSettings
from inference.predictors.protocol import PredictorError
from inference.storage.core_models import core_model_of
from inference.storage.mappings import load_mapping
from inference.storage.names import by_name
from inference.web.data_command import DataCommand

_NUMERIC_OPTIONS = {
    "noise": (0.0, "standard deviation of a factor around 1"),
    "noise_cpi": (0.0, "of an error in cycles per instruction"),
    "odd_share": (0.0, "share of schemes that no port mapping describes"),
    "outlier_share": (0.0, "share of answers far off"),
    "outlier_factor": (2.0, "by which they are longer"),
    "contended_share": (0.0, "share of answers given up as disturbed"),
    "pace": (0.0, "experiments per second (default: as many as possible)"),
}
"""{option: (default, help)} of the numeric options."""

_CORE_OPTIONS = ("noise", "contended_share", "pace")
"""Of these, those of a core that executes code."""


class Command(DataCommand):
    help = (
        "Serve a site as an agent whose computer is simulated: by a port mapping, or as a core that executes "
        "the code that it is sent. Ctrl-C ends it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--server", default="", metavar="URL", help="the site, e.g. http://host:8000")
        parser.add_argument(token.FILE_OPTION, default="", metavar="FILE", help=token.HELP)
        parser.add_argument(token.OPTION, default="", help=SUPPRESS)  # deprecated
        truth = parser.add_mutually_exclusive_group(required=True)
        truth.add_argument("--mapping", metavar="NAME-OR-FILE", help="port mapping of the processor")
        truth.add_argument(
            "--core",
            metavar="NAME-OR-FILE",
            help="core that executes code: a core model or its file, a processor that llvm-mca models, or a "
            "number that all of its properties are sampled by",
        )
        truth.add_argument(
            "--rvsim",
            metavar="CORE",
            help=f"core of the RISC-V simulator rvsim, such as p550 or {IN_ORDER}; needs pmweb[rvsim]",
        )
        parser.add_argument("--isa", default=DEFAULT, choices=sorted(FOLDERS), help="of a sampled core")
        parser.add_argument("--in-order", action="store_true", help="a sampled core issues in program order")
        parser.add_argument("--write-truth", metavar="FILE", help="write the core model of --core, and end")
        for name, (usual, help_text) in _NUMERIC_OPTIONS.items():
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, type=float, default=usual, help=help_text)
        parser.add_argument("--counters", choices=COUNTERS, default=NOTHING, help="what it counts")
        parser.add_argument("--seed", type=int, default=0, help="other noise")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until a signal stops the agent, or the site refuses it."""
        core = _core(options)
        if options["write_truth"]:
            if not isinstance(core, SimulatedCore):
                raise CommandError("--write-truth writes the core model of --core: give a core")
            document = core_model_json(core.model, name=f"{core.name}, truth", isa=core.isa)
            Path(options["write_truth"]).write_text(core_model_text(document))
            return
        if not options["server"]:
            raise CommandError("the site is needed: --server URL")
        secret = _token(options["token"], options["token_file"])
        harness, facts = _executing_core(core, options) if core else _answering_processor(options)
        logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
        try:
            asyncio.run(_serve(options["server"], secret, harness, facts))
        except (AgentRefusedError, ProtocolError, AddressError) as error:
            raise CommandError(str(error)) from error


def _answering_processor(options: dict[str, Any]) -> tuple[Harness, Json]:
    """(harness, facts) of a simulated processor that answers by a port mapping and executes nothing."""
    name, mapping, isa = _mapping(options["mapping"])
    values = {key: options[key] for key in (*_NUMERIC_OPTIONS, "counters", "seed")}
    return SimulatedHarness(mapping, **values), simulated_facts(name, mapping, options["counters"], isa)


def _executing_core(core: ExecutingCore, options: dict[str, Any]) -> tuple[Harness, Json]:
    """The harness and the facts of a core that executes code."""
    of_mappings = [key for key in _NUMERIC_OPTIONS if key not in _CORE_OPTIONS]
    if refused := [key for key in of_mappings if options[key] != _NUMERIC_OPTIONS[key][0]]:
        raise CommandError(f"--{refused[0].replace('_', '-')} is an option of --mapping")
    if options["counters"] != NOTHING:
        raise CommandError("a core that executes code has no counters: leave out --counters")
    values = {key: options[key] for key in (*_CORE_OPTIONS, "seed")}
    mapping = core.model.mapping if isinstance(core, SimulatedCore) else None
    return ExecutingHarness(core, **values), executing_facts(core.name, core.isa, mapping)


def _core(options: dict[str, Any]) -> ExecutingCore | None:
    """The core that executes code; None where a port mapping answers."""
    if options["rvsim"]:
        try:
            return RvsimCore(options["rvsim"])
        except InvalidInputError as error:
            raise CommandError(f"--rvsim: {error}") from error
    if not options["core"]:
        return None
    if options["core"].isdecimal() and not Path(options["core"]).is_file():
        return sampled_core(options["isa"], int(options["core"]), in_order=options["in_order"])
    if options["in_order"]:
        raise CommandError("--in-order is an option of a sampled core: give a number as --core")
    return _named_core(options["core"])


def _named_core(name: str) -> SimulatedCore:
    """The core of a file, of a stored core model, or of a processor of llvm-mca, in this order."""
    path = Path(name)
    row = StoredCoreModel.objects.select_related("isa").filter(name=name).first()
    try:
        if path.is_file():
            document = read_core_model(path.read_bytes())
            return SimulatedCore(document.isa, document.model(), document.name or path.stem)
        if row is not None:
            return SimulatedCore(row.isa.name, core_model_of(row), row.name)
    except (ExchangeError, InvalidInputError) as error:
        raise CommandError(f"--core: {error}") from error
    try:
        modelled = modelled_core(McaSettings(cpu=name))
    except (PredictorError, InvalidInputError) as error:
        raise CommandError(f"--core: no file and no core model is called {name!r}; {error}") from error
    return SimulatedCore(modelled.isa, modelled.model, modelled.name)


def _token(argument: str, path: str) -> str:
    if secret := token.exposed_token(argument):
        return secret
    if not path:
        raise CommandError(f"a token is needed: {token.FILE_OPTION} FILE, or - and type it")
    try:
        return token.read(path)
    except token.TokenError as error:
        raise CommandError(str(error)) from error


async def _serve(server: str, secret: str, harness: Harness, facts: Json) -> None:
    agent = asyncio.ensure_future(run_agent(server, secret, harness, lambda: facts, __version__))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, agent.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await agent


def _mapping(name_or_path: str) -> tuple[str, PortMapping, str]:
    """(name, mapping, instruction set) of a file, or of the stored mapping of that name.

    The instruction set is "" if the file does not name it; the machine keeps its own then.
    """
    path = Path(name_or_path)
    if path.is_file():
        parsed = parse(path.read_bytes(), path.name, AnyNames())
        if parsed.mapping is None:
            raise CommandError("\n".join(parsed.lines()) or f"{path} has experiments, not a port mapping")
        return path.stem, parsed.mapping, str(parsed.facts.get("isa") or "")
    row = by_name(PortMappingRow, name_or_path)
    return row.name, load_mapping(row), row.isa.name
