"""Django's entry for the anica_app."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    """Campaigns, and what they discover."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say which features there are, and what they offer on pages of inference."""
        from anica_app import features  # noqa: PLC0415  models are there only now
        from inference.formats import other_formats  # noqa: PLC0415

        features.register_all()
        other_formats.register("anica_app.features.importing.import_job.AnicaImporter")
        other_formats.register_writer("campaign", "anica_app.storage.campaigns.write_campaign_archive")
