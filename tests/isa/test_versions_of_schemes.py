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
    "document 428215262f83": "fe497741d6f99bdcf0126997128b55bf5e3cc0babdeb6720f28d54ac8332cd9d",
    "document e8fe8b5a2e6d": "ab319923e5063c6cbd73f6a6e24e7a29e10cdf1911c71d5a74a88dc9470fb369",
}


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_schemes_and_their_version_change_together(target: IsaTarget) -> None:
    rows = sorted(astuple(scheme) for scheme in target.schemes.schemes())
    digest = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    assert DIGESTS.get(target.schemes.version()) == digest, (
        "other schemes need another version, the same ones none"
    )
