"""Django's entry for the inference app."""

from django.apps import AppConfig


class InferenceConfig(AppConfig):
    """Instruction sets, experiments, mappings and the runs that infer them."""

    name = "inference"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Take the zips of runs where files are taken, and write them where files are written."""
        from inference.exchange import other_formats  # noqa: PLC0415  models are there only now

        other_formats.register("inference.runs.archive_importer.RunArchives")
        other_formats.register_writer("run", "inference.runs.archive_importer.write_run")
