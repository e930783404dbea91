"""Every address of inference; each page family lists its own."""

from __future__ import annotations

from inference.views import (
    example,
    experiments,
    infer,
    isas,
    machines,
    mappings,
    resources,
    runs,
    sets,
    uploads,
)

urlpatterns = [
    *example.urlpatterns,
    *experiments.urlpatterns,
    *infer.urlpatterns,
    *isas.urlpatterns,
    *machines.urlpatterns,
    *mappings.urlpatterns,
    *resources.urlpatterns,
    *runs.urlpatterns,
    *uploads.urlpatterns,
    *sets.urlpatterns,
]
