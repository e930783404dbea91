"""Django's entry for the site itself."""

from django.apps import AppConfig


class PmwebConfig(AppConfig):
    """Accounts, start page and launcher."""

    name = "pmweb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Note in the audit log what happens from now on; add what workers and the API do for the site."""
        from inference.runs import chores  # noqa: PLC0415
        from inference.web import contributions  # noqa: PLC0415  models can be imported from here on
        from pmweb.accounts import audit, sessions  # noqa: PLC0415
        from pmweb.api import routers  # noqa: PLC0415

        audit.connect()
        sessions.connect()
        contributions.ROUTERS.append(routers)
        chores.register(chores.Chore(_pruning_is_due, ("prune", "--asked")))


def _pruning_is_due() -> bool:
    from pmweb.retention import due  # noqa: PLC0415  workers load it

    return due()
