"""The core model of the recorded example, read without the database."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

from inference.formats.core_model_json import read_core_model
from inference.models import ISA, StoredCoreModel
from inference.storage.core_models import document_row

CORE_MODEL = Path(__file__).parent / "data" / "zen4_core_model.json"
RECORDED_NAME = "Recorded Zen 4"
RECORDED_ON = date(2026, 11, 30)


@cache
def recorded_core() -> StoredCoreModel:
    """The unsaved row of the recorded core model: it has no id and no machine."""
    document = read_core_model(CORE_MODEL.read_bytes())
    return document_row(document, ISA(name=document.isa), RECORDED_NAME)
