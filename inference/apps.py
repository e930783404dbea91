"""Django's entry for the inference app."""

from django.apps import AppConfig
from django.conf import settings


class InferenceConfig(AppConfig):
    """Instruction sets, experiments, mappings and the runs that infer them."""

    name = "inference"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say which features there are; keep foreign programs from the site's data."""
        from inference import features  # noqa: PLC0415  models are there only now
        from inference.containment.private import shield  # noqa: PLC0415
        from inference.predictors.permission import allow_commands  # noqa: PLC0415  as the others
        from inference.runs import parts  # noqa: F401, PLC0415  hears what is asked of runs

        features.register_all()
        allow_commands(allowed=settings.ALLOW_COMMANDS)
        shield(settings.HOME)
