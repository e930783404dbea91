"""Django's entry for the anica_app."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    """Predictors, campaigns, and what they discover."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer on inference's pages what belongs to this app."""
        from anica_app.web.run_examples import CONFIGS  # noqa: PLC0415
        from inference.features.runs import api  # noqa: PLC0415
        from inference.features.search import query  # noqa: PLC0415
        from inference.formats import other_formats  # noqa: PLC0415
        from inference.runs import kinds  # noqa: PLC0415  models are there only now
        from inference.web import offers  # noqa: PLC0415
        from inference.web.api import registry as operations  # noqa: PLC0415

        for kind, job, how in (
            ("campaign", "campaigns.job.CampaignJob", {}),
            ("generalise", "questions.generalise_job.GeneraliseJob", {"asks": True}),
            ("matrix", "matrices.job.MatrixJob", {}),
            ("coverage", "coverage.job.CoverageJob", {"short": True}),
            ("llvm-difference", "llvm_difference.job.LlvmDifferenceJob", {"short": True}),
            ("import-anica", "block_sets.import_job.ImportAnicaJob", {"short": True}),
            ("ask", "questions.job.AskJob", {"short": True, "asks": True}),
            ("comparison", "comparisons.job.ComparisonJob", {"short": True, "asks": True}),
            ("loops", "block_sets.loops_job.LoopsJob", {"short": True}),
            ("columns", "block_sets.columns.ColumnsJob", {}),
            ("accuracy", "block_sets.accuracy_job.AccuracyJob", {"short": True}),
        ):
            kinds.register(kind, kinds.Deferred(f"anica_app.features.{job}", **how))
        api.register(CONFIGS)
        operations.register("", "anica_app.features.questions.api.router", "Basic blocks")
        other_formats.register("anica_app.features.block_sets.import_job.AnicaImporter")
        other_formats.register_writer("block-set", "anica_app.formats.incoming.write_block_set")
        other_formats.register_writer("campaign", "anica_app.formats.incoming.write_campaign_archive")
        for prefix, module, tag in (
            ("/predictors", "predictors.api", "Predictors"),
            ("/campaigns", "campaigns.api", "Campaigns"),
            ("/campaigns", "campaigns.parts_api", "Campaigns"),
            ("/campaign-comparisons", "campaigns.comparison_api", "Campaigns"),
            ("/discoveries", "discoveries.api", "Discoveries"),
            ("/discoveries", "discoveries.trees_api", "Discoveries"),
            ("/block-sets", "block_sets.api", "Basic-block sets"),
            ("/block-sets", "block_sets.accuracy_api", "Basic-block sets"),
            ("/coverages", "coverage.api", "What campaigns explain"),
            ("/matrices", "matrices.api", "Tool × tool matrices"),
            ("/predictor-comparisons", "comparisons.api", "Predictor comparisons"),
            ("/llvm-differences", "llvm_difference.api", "Port mappings"),
        ):
            operations.register(prefix, f"anica_app.features.{module}.router", tag)
        query.register("anica_app.features.campaigns.query.found_of_anica")
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
