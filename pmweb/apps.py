"""Django's entry for the site itself."""

from django.apps import AppConfig


class PmwebConfig(AppConfig):
    """Accounts, start page and launcher."""

    name = "pmweb"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Note in the audit log what happens from now on; add what workers and the API do for the site."""
        from inference.runs import chores  # noqa: PLC0415
        from inference.web.api import registry  # noqa: PLC0415  models can be imported from here on
        from pmweb.accounts import noting  # noqa: PLC0415

        noting.connect()
        for module, heading in (
            ("about", "Installation"),
            ("people", "Accounts"),
            ("sessions", "Sessions"),
            ("sharing", "Shared links"),
            ("audit_log", "Audit log"),
            ("storage", "Storage"),
        ):
            registry.register("", f"pmweb.api.{module}.router", heading)
        chores.register(chores.Chore("pmweb.retention.pruning.due", ("prune", "--asked")))
