"""Tables that were adopted from anica_app get the names of their models."""

from django.db import migrations

ADOPTED = (
    "answercache",
    "basicblock",
    "basicblockset",
    "blockcolumn",
    "comparedcolumn",
    "comparison",
    "prediction",
    "predictor",
)


class Migration(migrations.Migration):
    dependencies = [
        ("anica_app", "0007_predictors_and_block_sets_moved"),
        ("inference", "0028_predictors_and_block_sets"),
    ]

    operations = [migrations.AlterModelTable(name=name, table=None) for name in ADOPTED]
