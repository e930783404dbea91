from typing import Any

from django.db import migrations


def end_sessions(apps: Any, _schema_editor: Any) -> None:
    """Keys were kept as they are, also in back-ups: nobody shall log in with one. Now hashes are kept."""
    apps.get_model("sessions", "Session").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("pmweb", "0003_prunings"), ("sessions", "0001_initial")]

    operations = [migrations.RunPython(end_sessions, migrations.RunPython.noop, elidable=True)]
