"""Django's entry for the anica_app."""

from django.apps import AppConfig
from django.conf import settings


class AnicaConfig(AppConfig):
    """Predictors, campaigns, and what they discover."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer on inference's pages what belongs to this app; say what the operator lets predictors run."""
        from inference.predictors.permission import allow_commands  # noqa: PLC0415

        from anica_app import features  # noqa: PLC0415  models are there only now
        from inference.formats import other_formats  # noqa: PLC0415
        from inference.web import offers  # noqa: PLC0415

        features.register_all()
        allow_commands(allowed=settings.ALLOW_COMMANDS)
        other_formats.register("anica_app.features.block_sets.import_job.AnicaImporter")
        other_formats.register_writer("block-set", "anica_app.formats.incoming.write_block_set")
        other_formats.register_writer("campaign", "anica_app.formats.incoming.write_campaign_archive")
        offers.find_more("anica_app.features.campaigns.query.found_of_anica")
        offers.offer_on_mapping(
            offers.MappingOffer(
                "Difference to LLVM’s model …",
                "what llvm-mca says of each scheme; a report in Markdown",
                "mapping-llvm",
                lambda row: row.isa.name == "x86-64",
            )
        )
        offers.show_on_scheme(
            offers.SchemePanel(
                "discoveries",
                "Discoveries",
                "anica/discoveries/mentions.html",
                "anica_app.features.discoveries.pages.discoveries_panel",
            )
        )
        offers.offer_on_set(
            offers.SetOffer(
                "Compare predictors", "chart", "comparison-new", "comparisons", "Predictor comparisons"
            )
        )
        for kind, title, where in (
            ("comparison", "Predictor comparisons", "anica_app.features.comparisons.publishing"),
            ("campaign", "Campaigns", "anica_app.features.campaigns.publishing"),
        ):
            offers.offer_to_publish(
                offers.Publishable(kind, title, f"{where}.publishable", f"{where}.published_page")
            )
        offers.offer_on_machine(
            offers.MachineOffer(
                "Check accuracy …",
                "How good its core model, its mappings and all tools predict blocks that are measured on it",
                "chart",
                "accuracy-check-new",
            )
        )
        offers.say_schemes_of_blocks("anica_app.features.block_sets.query.scheme_texts")
        offers.say_dependents("inference.BasicBlockSet", "anica_app.features.block_sets.query.of_block_set")
        offers.say_dependents("anica_app.Campaign", "anica_app.features.campaigns.query.of_campaign")
