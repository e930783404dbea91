"""Agents and measuring processes for tests; what needs this computer to run machine code skips elsewhere."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from inference.agent import fork_server
from inference.agent.facts import choose_core, facts
from inference.agent.passes import LocalHarness
from inference.agent.process import ForkServer
from inference.agent.protocol import BatchItem, Frame, Settings
from inference.agent.targets.x86_64 import ADDITIONS

needs_x86 = pytest.mark.skipif(
    platform.system() != "Linux" or platform.machine() != "x86_64",
    reason="runs machine code of x86-64 under Linux",
)


def item(name: str, code: bytes, copies: int = 1) -> BatchItem:
    """A loop body of equal copies."""
    return BatchItem(name, code * copies, copies, len(code) * max(copies // 2, 1), max(copies // 2, 1), 1)


ADD = ADDITIONS.item
HASTY = Settings(repetitions=3, sample_us=20.0, patience=0.0, timeout=2.0)
"""Quick, and content with a disturbed computer: for tests that are not about the times."""


def frame() -> Frame:
    """A frame that suits this computer."""
    return Frame(avx="avx" in facts(None)["flags"])


@pytest_asyncio.fixture
async def processes() -> AsyncIterator[ForkServer]:
    """A fork_server of this test's own."""
    found = ForkServer(fork_server.start(choose_core()))
    yield found
    found.close()


@pytest_asyncio.fixture
async def harness(processes: ForkServer) -> AsyncIterator[LocalHarness]:
    """A harness on this computer."""
    found = LocalHarness(processes, {}, avx=frame().avx)
    yield found
    await found.close()
