"""What the vendor calls the ports of a core."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("inference", "0021_keep_what_there_is"),
    ]

    operations = [
        migrations.AddField(
            model_name="storedcoremodel",
            name="port_names",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
