"""Blocks know their length and mnemonics, so that tables can be searched; answers are found by their number."""

from __future__ import annotations

from itertools import islice
from typing import Any

import django.db.models.deletion
from django.db import migrations, models

from inference.isa.blocks import mnemonics_of

_ROWS = 2000


def fill(apps: Any, schema_editor: Any) -> None:
    """Of the blocks that are there."""
    del schema_editor
    blocks = apps.get_model("anica_app", "BasicBlock").objects
    waiting = blocks.only("code").order_by("pk").iterator(_ROWS)
    while rows := list(islice(waiting, _ROWS)):
        for row in rows:
            found = mnemonics_of(bytes(row.code))
            row.length, row.mnemonics = len(found), f" {' '.join(dict.fromkeys(found))} "
        blocks.bulk_update(rows, ["length", "mnemonics"], batch_size=200)


def _key(called: str, to: str) -> models.ForeignKey[Any, Any]:
    """Without an index of its own: another index begins with it."""
    return models.ForeignKey(
        on_delete=django.db.models.deletion.CASCADE, related_name=called, to=to, db_index=False
    )


class Migration(migrations.Migration):
    dependencies = [("anica_app", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="basicblock", name="length", field=models.PositiveSmallIntegerField(default=0)
        ),
        migrations.AddField(model_name="basicblock", name="mnemonics", field=models.TextField(blank=True)),
        migrations.AddIndex(
            model_name="prediction",
            index=models.Index(fields=["column", "cycles"], name="prediction_by_cycles"),
        ),
        migrations.AlterField(
            model_name="basicblock", name="block_set", field=_key("blocks", "anica_app.basicblockset")
        ),
        migrations.AlterField(
            model_name="prediction", name="column", field=_key("predictions", "anica_app.blockcolumn")
        ),
        migrations.AlterField(
            model_name="prediction", name="block", field=_key("predictions", "anica_app.basicblock")
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
