"""Blocks that were found in a program say where: file, function, address."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("anica_app", "0003_comparisons")]

    operations = [
        migrations.AddField(
            model_name="basicblock",
            name="origin",
            field=models.CharField(blank=True, db_default="", default="", max_length=300),
        ),
    ]
