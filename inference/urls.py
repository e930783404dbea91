"""Every address of inference; each page family lists its own."""

from __future__ import annotations

from inference.views import (
    blocks,
    check_model,
    example,
    experiments,
    infer,
    isa_documents,
    isas,
    machines,
    mappings,
    resources,
    runs,
    sets,
    uploads,
)

urlpatterns = [
    *blocks.urlpatterns,
    *check_model.urlpatterns,
    *example.urlpatterns,
    *experiments.urlpatterns,
    *infer.urlpatterns,
    *isa_documents.urlpatterns,
    *isas.urlpatterns,
    *machines.urlpatterns,
    *mappings.urlpatterns,
    *resources.urlpatterns,
    *runs.urlpatterns,
    *uploads.urlpatterns,
    *sets.urlpatterns,
]
