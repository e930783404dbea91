"""The addresses of the API and of its reference."""

from __future__ import annotations

from django.urls import path, re_path

from inference.web.api.reference import reference
from inference.web.api.site import NAME, ROOT, operation

urlpatterns = [
    path("api/", reference, name="api"),
    re_path(rf"^{ROOT.removeprefix('/')}", operation, name=NAME),
]
