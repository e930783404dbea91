"""Experiments: one that was measured, or any that is typed in, with what every mapping predicts for it."""

from inference.views.experiments.pages import urlpatterns

__all__ = ["urlpatterns"]
