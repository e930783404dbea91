"""Every address of the site."""

from django.urls import include, path

from pmweb.views.pages import (
    about,
    bad_request,
    glossary,
    health,
    manual,
    manual_chapter,
    metrics,
    storage,
    storage_prune,
)
from pmweb.views.start import start
from pmweb.views.tour import tour

urlpatterns = [
    path("", start, name="start"),
    path("", include("pmweb.accounts.pages")),
    path("", include("pmweb.accounts.administration")),
    path("about/", about, name="about"),
    path("glossary/", glossary, name="glossary"),
    path("help/", manual, name="help"),
    path("help/<slug:name>/", manual_chapter, name="help-page"),
    path("tour/", tour, name="tour"),
    path("storage/", storage, name="storage"),
    path("storage/prune/", storage_prune, name="storage-prune"),
    path("health/", health, name="health"),
    path("metrics/", metrics, name="metrics"),
    path("", include("pmweb.sharing")),
    path("", include("inference.urls")),
    path("", include("anica_app.urls")),
]

handler400 = bad_request
