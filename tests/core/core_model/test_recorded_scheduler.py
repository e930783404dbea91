"""The recorded Zen 5: a scheduler that is inferred from some of its mixes explains the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.scheduler import inferred, recorded_core, scores

pytestmark = pytest.mark.shared


def test_mixes_that_it_was_not_inferred_from_are_predicted_better_than_by_ports() -> None:
    core, cycles = recorded_core()
    finding, chosen = inferred(core, cycles, seconds=240)
    assert finding.scheduler is not None, finding.reason
    assert (finding.scheduler.width, finding.finished) == (8, True)
    fresh = {mix: taken for mix, taken in cycles.items() if mix not in chosen}
    assert len(fresh) > 150
    without, simulated = (scores(replace(core, scheduler=one), fresh) for one in (None, finding.scheduler))
    assert without.mape is not None
    assert simulated.mape is not None
    assert simulated.mape < 4.5 < 7.5 < without.mape
    assert without.kendall is not None
    assert simulated.kendall is not None
    assert simulated.kendall > 0.9 > without.kendall
