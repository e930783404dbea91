"""The form that starts an inference, with its estimate."""

from inference.views.infer.pages import urlpatterns

__all__ = ["urlpatterns"]
