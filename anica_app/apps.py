"""Django's entry for the anica_app."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    """Predictors, campaigns, and what they discover."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"
