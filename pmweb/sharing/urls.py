"""Addresses of shared links."""

from django.urls import path

from pmweb.sharing import pages

urlpatterns = [
    path("shares/", pages.shares, name="shares"),
    path("shares/make/", pages.share_make, name="share-make"),
    path("shares/<int:pk>/revoke/", pages.share_revoke, name="share-revoke"),
    path("shared/<str:token>/", pages.shared, name="shared"),
    path("shared/<str:token>/<path:file>", pages.shared_file, name="shared-file"),
]
