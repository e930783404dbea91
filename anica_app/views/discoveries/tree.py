"""The tree of a generalisation as data for its picture, and as a document to take away."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from anica_app.exchange.sample_document import sample_document
from anica_app.models import Generalisation, GeneralisationStep
from anica_app.queries.discoveries import Found
from anica_app.queries.generalisations import Tree, all_samples
from anica_app.views.discoveries.saying import decision, label, reason
from inference.core.protocols import Json
from inference.exchange.provenance import PRODUCT


def picture(tree: Tree) -> Json:
    """What `generalisation-tree.js` draws: a node per decision, in order.

    Of each its number, `kind`, whether `taken`, `label` and `words`, `reason`, and how many of `n` blocks are
    `interesting`; `result` marks the one that has become the discovery.
    """
    taken = [node.number for node in tree.nodes if node.taken]
    is_result = tree.generalisation.became == Generalisation.Became.DISCOVERY
    nodes: list[dict[str, Any]] = [
        {
            "number": node.number,
            "kind": node.kind,
            "taken": node.taken,
            "label": label(node).replace("`", ""),
            "words": decision(node).replace("`", ""),
            "reason": reason(node),
            "n": node.n,
            "interesting": node.interesting,
            "result": is_result and taken[-1:] == [node.number],
        }
        for node in tree.nodes
        if node.kind != GeneralisationStep.Kind.END
    ]
    return {"nodes": nodes}


def tree_document(found: Found, tree: Tree, *, samples: bool) -> Json:
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
                "reason": reason(node),
                "n": node.n,
                "interesting": node.interesting,
                "failed": node.failed,
                "mean": None if node.mean is None else _finite(node.mean),
                **({} if judged is None else {"samples": sample_document(judged)}),
            }
            for node, judged in zip(tree.nodes, blocks, strict=False)
        ],
    }


def _result(row: Generalisation) -> Json | None:
    if "result" in row.get_deferred_fields():
        row.refresh_from_db(fields=["result"])
    return row.result


def _finite(value: float) -> float | str:
    return value if abs(value) < float("inf") else "infinite"
