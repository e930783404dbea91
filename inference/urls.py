"""Every address of inference; each page family lists its own."""

from __future__ import annotations

from inference.api import urls as api
from inference.views import (
    check_model,
    example,
    experiments,
    infer,
    isa_documents,
    isas,
    machines,
    mappings,
    resources,
    run_archives,
    runs,
    schemes,
    search,
    set_comparing,
    set_merging,
    sets,
    uploads,
)

urlpatterns = [
    *api.urlpatterns,
    *check_model.urlpatterns,
    *example.urlpatterns,
    *experiments.urlpatterns,
    *infer.urlpatterns,
    *isa_documents.urlpatterns,
    *isas.urlpatterns,
    *machines.urlpatterns,
    *mappings.urlpatterns,
    *resources.urlpatterns,
    *run_archives.urlpatterns,
    *runs.urlpatterns,
    *uploads.urlpatterns,
    *schemes.urlpatterns,
    *search.urlpatterns,
    *set_comparing.urlpatterns,
    *set_merging.urlpatterns,
    *sets.urlpatterns,
]
