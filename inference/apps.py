"""Django's entry for the inference app."""

from django.apps import AppConfig
from django.conf import settings


class InferenceConfig(AppConfig):
    """Instruction sets, experiments, mappings and the runs that infer them."""

    name = "inference"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Say which features there are; keep foreign programs from the site's data."""
        from inference import features  # noqa: PLC0415  models are there only now
        from inference.formats import other_formats  # noqa: PLC0415  models are there only now
        from inference.predictors.permission import allow_commands  # noqa: PLC0415  as the others
        from inference.runs import parts  # noqa: F401, PLC0415  hears what is asked of runs
        from inference.sandbox.strangers import shield  # noqa: PLC0415

        features.register_all()
        allow_commands(allowed=settings.ALLOW_COMMANDS)
        other_formats.register("inference.features.running.runs.archive.RunArchives")
        other_formats.register("inference.features.learning.core_model.storing.CoreModelFiles")
        other_formats.register_writer("run", "inference.features.running.runs.archive.write_run")
        other_formats.register_writer("block-set", "inference.formats.block_sets.write_block_set")
        _offer()
        shield(settings.HOME)


def _offer() -> None:
    """What features show on the pages of others."""
    from inference.isa.targets import target_of  # noqa: PLC0415  loaded with the apps
    from inference.web import offers  # noqa: PLC0415  models are there only now

    offers.offer_on_mapping(
        offers.MappingOffer(
            "Difference to LLVM’s model …",
            "what llvm-mca says of each scheme; a report in Markdown",
            "mapping-llvm",
            lambda row: target_of(row.isa.name).blocks is not None,
        )
    )
    offers.offer_on_set(
        offers.SetOffer(
            "Compare predictors", "chart", "comparison-new", "comparisons", "Predictor comparisons"
        )
    )
    offers.offer_on_machine(
        offers.MachineOffer(
            "Check accuracy …",
            "How good its core model, its mappings and all tools predict blocks that are measured on it",
            "chart",
            "accuracy-check-new",
        )
    )
    where = "inference.features.judging.comparisons.publishing"
    offers.offer_to_publish(
        offers.Publishable(
            "comparison", "Predictor comparisons", f"{where}.publishable", f"{where}.published_page"
        )
    )
    sets = "inference.features.asking.block_sets.query"
    offers.say_schemes_of_blocks(f"{sets}.scheme_texts")
    offers.say_dependents("inference.BasicBlockSet", f"{sets}.of_block_set")
