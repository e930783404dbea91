"""The tree of a generalisation as a document to take away."""

from __future__ import annotations

from itertools import repeat

from anica_app.features.discoveries.generalisations import Tree, all_samples
from anica_app.features.discoveries.query import DiscoveryParts
from anica_app.features.discoveries.saying import decision, reason
from anica_app.models import Generalisation
from inference.core.protocols import Json
from inference.formats.provenance import PRODUCT
from inference.formats.sample_document import sample_document


def tree_document(found: DiscoveryParts, tree: Tree, *, samples: bool) -> Json:
    """A generalisation as JSON: every decision with its words, and with `samples` every judged block.

    `expansion` and `start` are documents of abstract blocks (docs/abstract-blocks.md).
    """
    row = tree.generalisation
    blocks = all_samples(row) if samples else repeat(None)
    return {
        "made by": PRODUCT,
        "campaign": found.campaign.name,
        "discovery": found.discovery.number,
        "generalisation": row.number,
        "became": row.became,
        "predictors": [one.name for one in found.predictors],
        "start": row.start,
        "result": _result(row),
        "steps": [
            {
                "number": node.number,
                "kind": node.kind,
                "expansion": node.expansion,
                **({"foreign": node.foreign} if node.expansion is None and node.foreign is not None else {}),
                "words": decision(node),
                "taken": node.taken,
                "implied": node.number not in tree.implied,
                "reason": reason(node),
                "n": node.n,
                "interesting": node.interesting,
                "failed": node.failed,
                "mean": None if node.mean is None else finite(node.mean),
                **({} if judged is None else {"samples": sample_document(judged, found.isa)}),
            }
            for node, judged in zip(tree.nodes, blocks, strict=False)
        ],
    }


def _result(row: Generalisation) -> Json | None:
    if "result" in row.get_deferred_fields():
        row.refresh_from_db(fields=["result"])
    return row.result


def finite(value: float) -> float | str:
    """The number; "infinite" for what JSON has no number for."""
    return value if abs(value) < float("inf") else "infinite"
