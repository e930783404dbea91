"""The addresses of the API and of its reference."""

from __future__ import annotations

from django.urls import path, re_path

from inference.web.api.client import CLIENT_NAME
from inference.web.api.reference import api_client, reference
from inference.web.api.site import NAME, ROOT, operation

urlpatterns = [
    path("api/", reference, name="api"),
    path(f"api/{CLIENT_NAME}", api_client, name="api-client"),
    re_path(rf"^{ROOT.removeprefix('/')}", operation, name=NAME),
]
