"""A site loads the schemes of an instruction set anew where their version is not the one that it has."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple

import pytest

from inference.isa.target import IsaTarget
from inference.isa.targets import targets

DIGESTS = {
    "iced-x86 1.21.0, rules 0d66426223f5": "0d66426223f511e0efcee05ea41fb9ea4623c52737b00e9bbb3fb8cbc2180e37",
    "document 35cc956f6bd2": "adcfb82712090d2501ab5a47d197c05b1275675d9dc074b03567801ef274c9bc",
}


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_schemes_and_their_version_change_together(target: IsaTarget) -> None:
    rows = sorted(astuple(scheme) for scheme in target.schemes.schemes())
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert DIGESTS.get(target.schemes.version()) == digest, (
        "other schemes need another version, the same ones none"
    )
