"""What has a name is renamed and deleted by the same operations, whichever feature it belongs to."""

from __future__ import annotations

from inference.models import ISA, Predictor
from inference.models.named import Named
from inference.web import contributions
from inference.web.api import named_rows

CHANGES = ("rename_{}", "list_dependents_of_{}", "delete_{}")
KEPT_UNDER_THEIR_NAME = {ISA, Predictor}


def test_no_feature_has_changes_of_its_own_for_rows_with_names() -> None:
    files = {
        operation.view_func.__name__: operation.view_func.__code__.co_filename
        for router, _ in contributions.routers()
        for mount in router.build_routers("")
        for view in mount.template.path_operations.values()
        for operation in view.operations
    }
    keys = {name.removeprefix("rename_") for name in files if name.startswith("rename_")}
    assert len(keys) == len(set(Named.__subclasses__()) - KEPT_UNDER_THEIR_NAME)
    changes = {change.format(key) for change in CHANGES for key in keys}
    assert {name for name in changes if files.get(name) != named_rows.__file__} == set()
