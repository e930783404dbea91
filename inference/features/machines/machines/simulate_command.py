"""`manage.py simulate-agent`: an agent with a simulated processor, for demos and tests."""

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
from inference.agent.reading import ProtocolError
from inference.agent.session import AgentRefusedError, run_agent
from inference.core.mapping import PortMapping
from inference.formats.parsing import AnyNames, parse
from inference.measuring.simulated import COUNTERS, NOTHING
from inference.measuring.simulated_agent import SimulatedHarness, simulated_facts
from inference.models import PortMapping as PortMappingRow
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


class Command(DataCommand):
    help = "Serve a site as an agent whose computer is simulated from a port mapping. Ctrl-C ends it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--server", required=True, metavar="URL", help="the site, e.g. http://host:8000")
        parser.add_argument(token.FILE_OPTION, default="", metavar="FILE", help=token.HELP)
        parser.add_argument(token.OPTION, default="", help=SUPPRESS)  # deprecated
        parser.add_argument(
            "--mapping", required=True, metavar="NAME-OR-FILE", help="port mapping of the processor"
        )
        for name, (usual, what) in _NUMERIC_OPTIONS.items():
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, type=float, default=usual, help=what)
        parser.add_argument("--counters", choices=COUNTERS, default=NOTHING, help="what it counts")
        parser.add_argument("--seed", type=int, default=0, help="other noise")

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until a signal stops the agent, or the site refuses it."""
        secret = _token(options["token"], options["token_file"])
        name, mapping, isa = _mapping(options["mapping"])
        harness = SimulatedHarness(
            mapping,
            **{key: options[key] for key in (*_NUMERIC_OPTIONS, "counters", "seed")},
        )
        logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
        facts = simulated_facts(name, mapping, options["counters"], isa)
        try:
            asyncio.run(_serve(options["server"], secret, harness, facts))
        except (AgentRefusedError, ProtocolError, AddressError) as error:
            raise CommandError(str(error)) from error


def _token(argument: str, path: str) -> str:
    if secret := token.exposed_token(argument):
        return secret
    if not path:
        raise CommandError(f"a token is needed: {token.FILE_OPTION} FILE, or - and type it")
    try:
        return token.read(path)
    except token.TokenError as error:
        raise CommandError(str(error)) from error


async def _serve(server: str, secret: str, harness: SimulatedHarness, facts: dict[str, Any]) -> None:
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
