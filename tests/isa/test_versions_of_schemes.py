"""A site loads the schemes of an instruction set anew where their version is not the one that it has."""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple

import pytest

from inference.isa.target import IsaTarget
from inference.isa.targets import targets

DIGESTS = {
    "iced-x86 1.21.0, rules 0d66426223f5": "d5f546869451802c16ad8b3d41e849a6995e13303df92887e648a196254eb011",
    "document cbdeaacd3b52": "ab5c5df8b5f304db723100a6e15bdd4282917519ef76081cc03198e434337568",
    "document 41f6463767eb": "e2f9ace54e00a8b7fe286754614cc04fdddf3183dd6f5cd1ba7e9bdacc954676",
}


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_schemes_and_their_version_change_together(target: IsaTarget) -> None:
    rows = sorted(astuple(scheme) for scheme in target.schemes.schemes())
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert DIGESTS.get(target.schemes.version()) == digest, (
        "other schemes need another version, the same ones none"
    )
