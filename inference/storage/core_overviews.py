"""What each port of a stored core model is for, and what of that other results contradict."""

from __future__ import annotations

from collections import Counter

from inference.core.core_model import CoreModel, CoreOverview, core_overview
from inference.isa.unit_classes import STORES, UNIT_CLASSES, unit_class
from inference.models import InstructionScheme, SchemeConflict, StoredCoreModel
from inference.storage.core_models import core_model_of


def overview_of(row: StoredCoreModel, model: CoreModel | None = None) -> CoreOverview:
    """What each port of a core model runs (a query, with its value `model` at hand)."""
    model = core_model_of(row) if model is None else model
    described = () if model.mapping is None else model.mapping.usage
    facts = row.isa.schemes.values_list("text", "mnemonic", "category", "memory")
    kinds = {text: unit_class(text, *rest) for text, *rest in facts if text in described}
    return core_overview(model, kinds, UNIT_CLASSES, STORES)


def unsettled_kinds(row: StoredCoreModel) -> Counter[str]:
    """{kind: how many of its schemes another result of the machine contradicts} (one query)."""
    conflicts = SchemeConflict.objects.filter(mapping=row.mapping_id)
    facts = InstructionScheme.objects.filter(pk__in=conflicts.values("scheme"))
    rows = facts.values_list("text", "mnemonic", "category", "memory")
    return Counter(unit_class(*scheme) for scheme in rows)
