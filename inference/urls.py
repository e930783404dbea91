"""Every address of inference; the pages of each feature list their own."""

from __future__ import annotations

from inference.features.comparing.pages import urlpatterns as comparing
from inference.features.doubts.pages import urlpatterns as doubts
from inference.features.example.pages import urlpatterns as example
from inference.features.experiments.pages import urlpatterns as experiments
from inference.features.explained.pages import urlpatterns as explained
from inference.features.inferring.counter_examples import urlpatterns as inferring_counter_examples
from inference.features.inferring.evolution import urlpatterns as inferring_evolution
from inference.features.inferring.pages import urlpatterns as inferring
from inference.features.machines.pages import urlpatterns as machines
from inference.features.machines.starting import urlpatterns as machines_starting
from inference.features.machines.trust import urlpatterns as machines_trust
from inference.features.mappings.listing import urlpatterns as mappings_listing
from inference.features.mappings.pages import urlpatterns as mappings
from inference.features.measure.pages import urlpatterns as measure
from inference.features.model_check.pages import urlpatterns as model_check
from inference.features.resources.pages import urlpatterns as resources
from inference.features.runs.pages import urlpatterns as runs
from inference.features.schemes.pages import urlpatterns as schemes
from inference.features.search.pages import urlpatterns as search
from inference.features.sets.comparison_pages import urlpatterns as sets_comparison_pages
from inference.features.sets.pages import urlpatterns as sets
from inference.features.uploads.pages import urlpatterns as uploads
from inference.web.api.urls import urlpatterns as api

urlpatterns = [
    *api,
    *comparing,
    *doubts,
    *example,
    *experiments,
    *explained,
    *inferring_counter_examples,
    *inferring_evolution,
    *inferring,
    *machines,
    *machines_starting,
    *machines_trust,
    *mappings_listing,
    *mappings,
    *measure,
    *model_check,
    *resources,
    *runs,
    *schemes,
    *search,
    *sets_comparison_pages,
    *sets,
    *uploads,
]
