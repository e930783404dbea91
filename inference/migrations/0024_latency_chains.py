"""The chains of latencies in a column of their own: most who read latencies do without."""

from typing import Any

from django.db import migrations, models

_AT_ONCE = 500


def part(apps: Any, schema_editor: Any) -> None:
    """Take the chains out of the pairs, a portion of the rows at a time."""
    _rewrite(apps, lambda pairs, _: (_without(pairs), [pair.get("chains", []) for pair in pairs]))


def join(apps: Any, schema_editor: Any) -> None:
    """Put them back."""
    _rewrite(
        apps,
        lambda pairs, chains: (
            [{**pair, "chains": each} for pair, each in zip(pairs, chains, strict=True)],
            [],
        ),
    )


def _without(pairs: Any) -> Any:
    return [{name: value for name, value in pair.items() if name != "chains"} for pair in pairs]


def _rewrite(apps: Any, rewritten: Any) -> None:
    rows = apps.get_model("inference", "SchemeLatencies").objects.order_by("pk")
    last = 0
    while found := list(rows.filter(pk__gt=last).values_list("pk", "pairs", "chains")[:_AT_ONCE]):
        for last, *old in found:
            pairs, chains = rewritten(*old)
            rows.filter(pk=last).update(pairs=pairs, chains=chains)


class Migration(migrations.Migration):
    dependencies = [("inference", "0023_latency_isolated_index")]

    operations = [
        migrations.AddField("schemelatencies", "chains", models.JSONField(default=list)),
        migrations.RunPython(part, join),
    ]
