"""Django's entry for the anica_app."""

from django.apps import AppConfig


class AnicaConfig(AppConfig):
    """Predictors, campaigns, and what they discover."""

    name = "anica_app"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Offer on inference's pages what belongs to this app."""
        from anica_app.api.run_examples import CONFIGS  # noqa: PLC0415
        from inference.features.runs import run_examples  # noqa: PLC0415
        from inference.features.search import query  # noqa: PLC0415
        from inference.formats import other_formats  # noqa: PLC0415
        from inference.runs import registry  # noqa: PLC0415  models are there only now
        from inference.web import offers  # noqa: PLC0415
        from inference.web.api import registry as operations  # noqa: PLC0415

        for kind, job, how in (
            ("campaign", "job.CampaignJob", {}),
            ("generalise", "single.GeneraliseJob", {"asks": True}),
            ("matrix", "matrix.MatrixJob", {}),
            ("coverage", "covering.CoverageJob", {"short": True}),
            ("llvm-difference", "llvm_difference.LlvmDifferenceJob", {"short": True}),
            ("import-anica", "importing.ImportAnicaJob", {"short": True}),
            ("ask", "answering.AskJob", {"short": True, "asks": True}),
            ("comparison", "comparison_job.ComparisonJob", {"short": True, "asks": True}),
            ("loops", "searching_loops.LoopsJob", {"short": True}),
            ("columns", "new_columns.ColumnsJob", {}),
            ("accuracy", "comparing_columns.AccuracyJob", {"short": True}),
        ):
            registry.register(kind, registry.Deferred(f"anica_app.campaigning.{job}", **how))
        run_examples.register(CONFIGS)
        operations.register("", "anica_app.api.questions.router", "Basic blocks")
        other_formats.register("anica_app.campaigning.importing.AnicaImporter")
        other_formats.register_writer("block-set", "anica_app.exchange.outgoing.write_block_set")
        other_formats.register_writer("campaign", "anica_app.exchange.outgoing.write_campaign_archive")
        for prefix, module, tag in (
            ("/predictors", "predictors", "Predictors"),
            ("/campaigns", "campaigns", "Campaigns"),
            ("/campaigns", "campaign_parts", "Campaigns"),
            ("/campaign-comparisons", "campaign_comparisons", "Campaigns"),
            ("/discoveries", "discoveries", "Discoveries"),
            ("/discoveries", "discovery_trees", "Discoveries"),
            ("/block-sets", "block_sets", "Basic-block sets"),
            ("/block-sets", "accuracy", "Basic-block sets"),
            ("/coverages", "coverages", "What campaigns explain"),
            ("/matrices", "matrices", "Tool × tool matrices"),
            ("/predictor-comparisons", "comparisons", "Predictor comparisons"),
            ("/llvm-differences", "llvm_differences", "Port mappings"),
        ):
            operations.register(prefix, f"anica_app.api.{module}.router", tag)
        query.register("anica_app.queries.finding.found_of_anica")
        offers.offer_on_mapping(
            offers.Offer(
                "Difference to LLVM’s model …",
                "what llvm-mca says of each scheme; a report in Markdown",
                "mapping-llvm",
                lambda row: row.isa.name == "x86-64",
            )
        )
        offers.show_on_scheme(
            offers.Panel(
                "discoveries",
                "Discoveries",
                "anica/mentions.html",
                "anica_app.views.mentions.discoveries_panel",
            )
        )
