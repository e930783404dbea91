"""Django's entry for the site itself."""

from django.apps import AppConfig


class PmwebConfig(AppConfig):
    """Accounts, start page and launcher."""

    name = "pmweb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Note in the audit log what happens from now on; workers prune when they are asked to."""
        from inference.runs import chores  # noqa: PLC0415  models can be imported from here on
        from pmweb.accounts import noting  # noqa: PLC0415

        noting.connect()
        chores.register(chores.Chore("pmweb.retention.waiting.due", ("prune", "--asked")))
