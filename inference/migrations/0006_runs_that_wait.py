"""Runs of PMEvo that wait or are paused go on as they were described: with what was usual before 0.4."""

from typing import Any

from django.db import migrations

USUAL = {
    "search": "evolution",
    "plan": "exhaustive",
    "ceiling": "none",
    "congruence_outliers": 0.0,
    "inheritance": "split",
    "mutation": 0.0,
    "parents": "uniform",
}


def complete(apps: Any, schema_editor: Any) -> None:
    """Write down what the descriptions leave open."""
    runs = apps.get_model("inference", "Run").objects
    for run in runs.filter(kind="infer", state__in=("queued", "running", "paused")):
        if run.config.get("algorithm") == "pmevo" and "search" not in run.config["settings"]:
            run.config["settings"] = {**USUAL, **run.config["settings"]}
            run.save(update_fields=["config"])


class Migration(migrations.Migration):
    """Only the descriptions of runs change."""

    dependencies = [("inference", "0005_fronts")]

    operations = [migrations.RunPython(complete, migrations.RunPython.noop)]
