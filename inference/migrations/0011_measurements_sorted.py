"""Measurements with the length of their experiments, and indexes that lists of large sets are sorted by."""

from typing import Any

from django.db import migrations, models
from django.db.models import F, OuterRef, Subquery

from inference.models.experiment import cycles_or_0


def fill(apps: Any, schema_editor: Any) -> None:
    """The lengths of the measurements that are there."""
    experiments = apps.get_model("inference", "Experiment").objects.filter(pk=OuterRef("experiment_id"))
    measurements = apps.get_model("inference", "Measurement").objects
    measurements.update(length=Subquery(experiments.values("length")))


class Migration(migrations.Migration):
    dependencies = [("inference", "0010_sets_compared_and_merged")]

    operations = [
        migrations.AddField(
            model_name="measurement",
            name="length",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="measurement",
            index=models.Index(F("experiment_set"), cycles_or_0(), name="measurement_by_cycles"),
        ),
        migrations.AddIndex(
            model_name="measurement",
            index=models.Index(fields=["experiment_set", "length"], name="measurement_by_length"),
        ),
    ]
