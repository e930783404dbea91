"""Basic-block sets: the list, bringing one in, and the page of one."""

from __future__ import annotations

from anica_app.campaigning import new_columns, searching_loops
from anica_app.models import BasicBlockSet
from anica_app.queries import accuracy as accuracies
from anica_app.queries.set_dependents import of_block_set
from anica_app.views import asked_runs
from anica_app.views.block_sets import accuracy, actions, asking, coverage, listing, loops, page
from anica_app.views.block_sets.outcomes import imports_of, loops_of, sets_of
from inference.features.runs import outcome
from inference.web import naming

asked_runs.register()
naming.register(BasicBlockSet, of_block_set)
outcome.register("import-anica", imports_of)
outcome.register(searching_loops.KIND, loops_of)
outcome.register(new_columns.KIND, sets_of)
outcome.register(accuracies.KIND, sets_of)

urlpatterns = [
    *listing.urlpatterns,
    *loops.urlpatterns,
    *page.urlpatterns,
    *asking.urlpatterns,
    *accuracy.urlpatterns,
    *coverage.urlpatterns,
    *actions.urlpatterns,
]
