"""Code of two instructions, and what a core model of them says of its chain."""

from __future__ import annotations

from inference.models import StoredCoreModel

ADD, IMUL = "add GPR[64]:RW, GPR[64]:R", "imul GPR[64]:RW, GPR[64]:R"
CODE = "add rax, rbx\nimul rax, rbx"


def chain_of(model: StoredCoreModel) -> float:
    """Cycles of the chain through both instructions."""
    rows = model.latencies.schemes.in_bulk(field_name="pk").values()
    by_name = {
        (row.scheme.text, pair["source"], pair["destination"]): pair["least"]
        for row in rows
        for pair in row.pairs
    }
    return by_name[ADD, "1", "1"] + by_name[IMUL, "1", "1"]
