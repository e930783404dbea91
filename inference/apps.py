"""Django's app of the inference package."""

from django.apps import AppConfig
from django.conf import settings


class InferenceConfig(AppConfig):
    """Registers the features, and shields the site's data from predictors' programs."""

    name = "inference"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Called by Django when models can be imported."""
        from inference import features  # noqa: PLC0415  imports models
        from inference.containment.private import shield  # noqa: PLC0415
        from inference.predictors.permission import allow_commands  # noqa: PLC0415  as the others
        from inference.runs import parts  # noqa: F401, PLC0415  connects its signal receiver

        features.register_all()
        allow_commands(allowed=settings.ALLOW_COMMANDS)
        shield(settings.HOME)
