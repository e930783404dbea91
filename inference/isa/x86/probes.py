"""Probes: one or two schemes for each kind of execution unit, with which a core's ports are found in seconds.

Each is a single µop on nearly every core since Sandy Bridge and Zen, by Agner Fog's instruction tables and
uops.info; a run leaves those out that, measured alone, do not look like one µop. Vectors are of 128 bits,
since Zen, Zen+ and narrower cores split longer ones, and are VEX-encoded, for which AVX suffices. There are
no stores: on Intel's cores a store has two µops, address and data.
"""

from __future__ import annotations

from inference.isa.tables import table_of_module

_TABLES = table_of_module(__file__)
_PROBES, _PREFERRED = _TABLES["probes"], _TABLES["preferred"]

PREFERRED: tuple[str, ...] = (
    *(_PREFERRED["before_all"] + _PROBES["integer"] + _PROBES["vector"]),
    *(_PREFERRED["after_vector"] + _PROBES["load"] + _PREFERRED["after_load"]),
)
"""The schemes that best represent others with the same ports, the best first: common and well behaved."""

PROBES: frozenset[str] = frozenset(_PROBES["integer"] + _PROBES["vector"] + _PROBES["load"])
"""Texts of the probes; all are in the default inference set."""
