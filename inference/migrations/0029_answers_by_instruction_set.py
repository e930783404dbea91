from typing import Any

from django.db import migrations, models


def _forget_other_sets(apps: Any, schema_editor: Any) -> None:
    """Without the column, answers for other instruction sets would be taken for answers about x86-64."""
    apps.get_model("inference", "AnswerCache").objects.exclude(isa="x86-64").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("inference", "0028_predictors_and_block_sets"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="answercache", name="answer_once_per_block"),
        migrations.AddField(
            model_name="answercache",
            name="isa",
            field=models.CharField(db_default="x86-64", max_length=40),
        ),
        migrations.AddConstraint(
            model_name="answercache",
            constraint=models.UniqueConstraint(
                fields=("predictor", "isa", "block"), name="answer_once_per_block"
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, _forget_other_sets),
    ]
