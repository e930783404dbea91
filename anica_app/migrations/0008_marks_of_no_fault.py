"""Discoveries and families can be marked as no fault."""

from django.db import migrations, models

MARK = models.CharField(
    blank=True,
    choices=[
        ("", "none"),
        ("known", "known"),
        ("reported", "reported"),
        ("fixed", "fixed"),
        ("no-fault", "not a fault"),
    ],
    default="",
    max_length=10,
)


class Migration(migrations.Migration):
    dependencies = [
        ("anica_app", "0007_predictors_and_block_sets_moved"),
    ]

    operations = [
        migrations.AlterField(model_name=name, name="mark", field=MARK) for name in ("discovery", "family")
    ]
