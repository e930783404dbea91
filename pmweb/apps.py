"""Django's app of the site itself."""

from django.apps import AppConfig


class PmwebConfig(AppConfig):
    """Connects the audit log, and registers API routers and the pruning of old data."""

    name = "pmweb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Called by Django when models can be imported."""
        from inference.runs import chores  # noqa: PLC0415
        from inference.web import contributions  # noqa: PLC0415  models can be imported from here on
        from pmweb.accounts import audit, sessions  # noqa: PLC0415
        from pmweb.api import routers  # noqa: PLC0415

        audit.connect()
        sessions.connect()
        contributions.ROUTERS.append(routers)
        chores.register(chores.Chore(_pruning_is_due, ("prune", "--asked")))


def _pruning_is_due() -> bool:
    from pmweb.retention import is_due  # noqa: PLC0415  workers load it

    return is_due()
