"""Generated code of RISC-V runs in QEMU's user mode: it returns, and gives everything back.

Nothing here is timed: an emulator says nothing about times. Zicond runs in QEMU 8.2 or newer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from inference.agent.frame import function
from inference.agent.protocol import Frame
from inference.isa.riscv64 import by_text
from inference.isa.riscv64 import chains as latency_chains
from inference.isa.riscv64.assembling import Assembler, frame, obstacle
from tests.isa.riscv64_program import EVERYTHING, HAS_ZICOND, needs_qemu, run

pytestmark = needs_qemu

WITHOUT = () if HAS_ZICOND else ("Zicond",)

TEXTS = [text for text, scheme in by_text().items() if scheme.extension not in WITHOUT]
MEASURABLE = [text for text in TEXTS if not obstacle(text)]


def check(names: Sequence[str], codes: Sequence[bytes], around: Frame, path: Path) -> None:
    """Run each code in a loop; names say which one stops."""
    outcome = run([function(around, code) for code in codes], path, cpu=EVERYTHING)
    stopped = "" if outcome.returned == len(codes) else names[outcome.returned]
    assert (outcome.status, stopped) == (0, "")


def test_every_measurable_scheme_runs_and_what_belongs_to_the_caller_is_as_it_was(tmp_path: Path) -> None:
    assembler = Assembler()
    bodies = [assembler.unroll([(text, 1)], instructions=12) for text in MEASURABLE]
    check(MEASURABLE, [body.code for body in bodies], frame(), tmp_path / "schemes")


def test_every_chain_runs(tmp_path: Path) -> None:
    links = [link for text in TEXTS for link in latency_chains.links_of(text)]
    pairs = latency_chains.chains_of_pairs(links)
    assert not [pair.link for pair in pairs if not pair.chains]
    chains = [(f"{pair.link}: {chain.listing}", chain.code) for pair in pairs for chain in pair.chains]
    check(*zip(*chains, strict=True), latency_chains.frame(), tmp_path / "chains")


def test_every_idiom_and_every_chain_through_memory_runs(tmp_path: Path) -> None:
    idioms = [idiom for text in TEXTS for idiom in latency_chains.idioms_of(text)]
    chains = [chain for idiom in idioms for chain in (*idiom.pair.chains, idiom.independent)]
    chains += [memory.chain for memory in latency_chains.memory_chains()]
    chains.append(latency_chains.reference_additions())
    names = [f"{chain.links} {chain.code.hex()}" for chain in chains]
    check(names, [chain.code for chain in chains], latency_chains.frame(), tmp_path / "idioms")
