"""Predictors, block sets and comparisons belong to inference now, which has adopted their tables."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("anica_app", "0006_families_not_known_then"),
        ("inference", "0028_predictors_and_block_sets"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="campaignpredictor",
                    name="predictor",
                    field=models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="seats",
                        to="inference.predictor",
                    ),
                ),
                migrations.AlterField(
                    model_name="campaign",
                    name="predictors",
                    field=models.ManyToManyField(
                        blank=True,
                        related_name="campaigns",
                        through="anica_app.CampaignPredictor",
                        to="inference.predictor",
                    ),
                ),
                migrations.DeleteModel("AnswerCache"),
                migrations.DeleteModel("Prediction"),
                migrations.DeleteModel("ComparedColumn"),
                migrations.DeleteModel("Comparison"),
                migrations.DeleteModel("BasicBlock"),
                migrations.DeleteModel("BlockColumn"),
                migrations.DeleteModel("BasicBlockSet"),
                migrations.DeleteModel("Predictor"),
            ]
        )
    ]
