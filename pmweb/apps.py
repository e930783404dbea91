"""Django's entry for the site itself."""

from django.apps import AppConfig


class PmwebConfig(AppConfig):
    """Accounts, start page and launcher."""

    name = "pmweb"
    default_auto_field = "django.db.models.BigAutoField"
