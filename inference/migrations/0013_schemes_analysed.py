"""SQLite gets to know how the schemes that are there spread over instruction sets, as it does of new ones."""

from typing import Any

from django.db import migrations


def analyse(apps: Any, schema_editor: Any) -> None:
    """PostgreSQL does so by itself."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("ANALYZE inference_instructionscheme")


class Migration(migrations.Migration):
    dependencies = [("inference", "0012_mapping_digest")]

    operations = [migrations.RunPython(analyse, migrations.RunPython.noop)]
