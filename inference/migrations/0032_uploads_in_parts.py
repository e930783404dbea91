"""Large uploads are stored in parts; what is stored already remains whole, as a beginning."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inference", "0031_no_reports_of_compared_sets")]

    operations = [
        migrations.RenameField("Upload", "content", "beginning"),
        migrations.AddField("Upload", "further_bytes", models.BigIntegerField(default=0)),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                (
                    "upload",
                    models.ForeignKey(
                        on_delete=models.deletion.CASCADE, related_name="parts", to="inference.upload"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("upload", "number"), name="upload_part_number")
                ]
            },
        ),
    ]
