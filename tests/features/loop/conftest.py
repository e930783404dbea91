"""The simulation is compiled before loops are explained: pages do not wait for it."""

from __future__ import annotations

import pytest

from inference.core.simulation.steady_state import compile_simulation


@pytest.fixture(scope="session", autouse=True)
def _simulation() -> None:
    compile_simulation()
