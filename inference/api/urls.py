"""The addresses of the API and of its reference."""

from __future__ import annotations

from django.urls import path

from inference.api.reference import reference
from inference.api.site import addresses

urlpatterns = [path("api/", reference, name="api"), *addresses()]
