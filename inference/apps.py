"""Django's entry for the inference app."""

from django.apps import AppConfig


class InferenceConfig(AppConfig):
    """Instruction sets, experiments, mappings and the runs that infer them."""

    name = "inference"
    default_auto_field = "django.db.models.BigAutoField"
