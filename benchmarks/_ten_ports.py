"""A made-up processor with ten ports, whose port sets are like those of real ones."""

from __future__ import annotations

import numpy as np

from inference.core.mapping import PortMapping

PORTS = 10

KINDS = (
    *(0x001, 0x002, 0x020, 0x003, 0x021, 0x022, 0x063, 0x041, 0x023, 0x00C, 0x18C, 0x010, 0x210),
    *(0x180, 0x040, 0x263),
)
"""Port sets as real processors have them: arithmetic, vectors, branches, loads and stores."""


def scheme_names(n: int) -> list[str]:
    return [f"scheme {k:03}" for k in range(n)]


def ten_port_mapping(n_schemes: int, random: np.random.Generator) -> PortMapping:
    """One to three kinds of µops per scheme, one to three of each."""
    usage = {}
    for scheme in scheme_names(n_schemes):
        n_kinds = int(random.choice([1, 2, 3], p=[0.5, 0.35, 0.15]))
        masks = sorted(random.choice(KINDS, size=n_kinds, replace=False).tolist())
        usage[scheme] = tuple((mask, int(random.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))) for mask in masks)
    return PortMapping(tuple(str(port) for port in range(PORTS)), usage)
