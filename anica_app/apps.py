"""Django's configuration of the app."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from anica_app import features  # noqa: PLC0415  imports models

        features.register_all()
