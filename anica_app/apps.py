"""Django's entry for the anica_app."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    """Campaigns, and what they discover."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say which features there are."""
        from anica_app import features  # noqa: PLC0415  models are there only now

        features.register_all()
