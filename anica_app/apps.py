"""Django's app of AnICA."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    """Registers the features of AnICA."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Called by Django when models can be imported."""
        from anica_app import features  # noqa: PLC0415  imports models

        features.register_all()
