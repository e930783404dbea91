"""A foreign program tries every way to change a file that is not its own, in several sandboxes."""

from __future__ import annotations

import pytest

from inference.containment import host
from tests.containment.prober import LINK
from tests.containment.probes import ProbedFiles, failures, probed_files, sandboxes

SANDBOXES = sandboxes(host())
PER_PROGRAM = 80


@pytest.fixture(scope="module")
def files():
    with probed_files() as aims:
        yield aims


@pytest.mark.parametrize("name", SANDBOXES)
def test_nothing_outside_its_scratch_folder_is_changed(files: ProbedFiles, name):
    sandbox = SANDBOXES[name]
    if not sandbox.system_calls and not (sandbox.landlock and sandbox.mounts):
        pytest.skip("this host filters no system calls")
    targets = {
        f"{LINK}{files.installation / 'data'}",
        *(str(files.outside / "open"), str(files.installation / "directory")),
    }
    probes = [probe for probe in files.probes(sandbox) if probe.target in targets]
    assert failures(files, probes, sandbox, PER_PROGRAM) == []
