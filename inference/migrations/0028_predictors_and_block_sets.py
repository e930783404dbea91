"""Predictors, block sets and comparisons belong to inference: their tables are adopted as they are."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("anica_app", "0006_families_not_known_then"),
        ("inference", "0027_scheme_conflicts"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Predictor",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=200, unique=True)),
                        ("note", models.TextField(blank=True)),
                        ("created", models.DateTimeField(auto_now_add=True)),
                        (
                            "kind",
                            models.CharField(
                                help_text="llvm-mca, osaca, command, mapping, machine, imported …",
                                max_length=40,
                            ),
                        ),
                        ("options", models.JSONField(blank=True, default=dict)),
                        ("identity", models.JSONField(blank=True, default=dict)),
                        ("key", models.CharField(max_length=64, unique=True)),
                        (
                            "origin",
                            models.CharField(
                                choices=[
                                    ("found", "found on this computer"),
                                    ("configured", "configured by a user"),
                                    ("imported", "named by an imported file"),
                                ],
                                default="found",
                                max_length=10,
                            ),
                        ),
                    ],
                    options={
                        "db_table": "anica_app_predictor",
                        "ordering": ["name"],
                    },
                ),
                migrations.CreateModel(
                    name="BasicBlockSet",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=200, unique=True)),
                        ("note", models.TextField(blank=True)),
                        ("created", models.DateTimeField(auto_now_add=True)),
                        (
                            "origin",
                            models.CharField(
                                choices=[("upload", "uploaded"), ("run", "made by a run")],
                                default="upload",
                                max_length=10,
                            ),
                        ),
                        (
                            "source",
                            models.CharField(blank=True, help_text="file name and format", max_length=300),
                        ),
                        ("size", models.PositiveIntegerField(default=0)),
                        ("report", models.JSONField(blank=True, default=dict)),
                        (
                            "isa",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="block_sets",
                                to="inference.isa",
                            ),
                        ),
                        (
                            "run",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="block_sets",
                                to="inference.run",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "anica_app_basicblockset",
                        "ordering": ["-id"],
                    },
                ),
                migrations.CreateModel(
                    name="BasicBlock",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("position", models.PositiveIntegerField()),
                        ("code", models.BinaryField()),
                        ("text", models.TextField(blank=True)),
                        ("weight", models.FloatField(blank=True, null=True)),
                        ("length", models.PositiveSmallIntegerField(default=0)),
                        ("mnemonics", models.TextField(blank=True)),
                        ("origin", models.CharField(blank=True, db_default="", default="", max_length=300)),
                        (
                            "block_set",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="blocks",
                                to="inference.basicblockset",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "anica_app_basicblock",
                        "ordering": ["block_set_id", "position"],
                    },
                ),
                migrations.CreateModel(
                    name="BlockColumn",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        ("name", models.CharField(max_length=200)),
                        (
                            "block_set",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="columns",
                                to="inference.basicblockset",
                            ),
                        ),
                        (
                            "predictor",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="columns",
                                to="inference.predictor",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "anica_app_blockcolumn",
                        "ordering": ["block_set_id", "position"],
                    },
                ),
                migrations.CreateModel(
                    name="Comparison",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "source",
                            models.CharField(
                                help_text="name of the set when it was compared", max_length=200
                            ),
                        ),
                        ("read", models.PositiveIntegerField()),
                        ("n", models.PositiveIntegerField()),
                        ("common", models.PositiveIntegerField()),
                        ("made", models.DateTimeField(auto_now_add=True)),
                        ("schemes", models.JSONField()),
                        ("lengths", models.JSONField()),
                        ("points", models.BinaryField()),
                        ("table", models.BinaryField()),
                        (
                            "experiment_set",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="predictor_comparisons",
                                to="inference.experimentset",
                            ),
                        ),
                        (
                            "isa",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="predictor_comparisons",
                                to="inference.isa",
                            ),
                        ),
                        (
                            "run",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="comparison",
                                to="inference.run",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "anica_app_comparison",
                        "ordering": ["-id"],
                    },
                ),
                migrations.CreateModel(
                    name="Prediction",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("cycles", models.FloatField(blank=True, null=True)),
                        (
                            "failure",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("crash", "crash"),
                                    ("timeout", "timeout"),
                                    ("unsupported", "unsupported"),
                                    ("no number", "no number"),
                                ],
                                default="",
                                max_length=12,
                            ),
                        ),
                        (
                            "block",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="predictions",
                                to="inference.basicblock",
                            ),
                        ),
                        (
                            "column",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="predictions",
                                to="inference.blockcolumn",
                            ),
                        ),
                    ],
                    options={"db_table": "anica_app_prediction"},
                ),
                migrations.CreateModel(
                    name="ComparedColumn",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("mapping", "port mapping"),
                                    ("resource_mapping", "resource mapping"),
                                    ("tool", "came with the set"),
                                    ("set", "measured"),
                                    ("predictor", "asked"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("name", models.CharField(max_length=200)),
                        ("error", models.TextField(blank=True)),
                        ("summary", models.JSONField(blank=True, default=dict)),
                        ("pictures", models.JSONField(blank=True, default=dict)),
                        ("answers", models.BinaryField()),
                        (
                            "experiment_set",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="inference.experimentset",
                            ),
                        ),
                        (
                            "mapping",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="inference.portmapping",
                            ),
                        ),
                        (
                            "resource_mapping",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="inference.resourcemapping",
                            ),
                        ),
                        (
                            "comparison",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="columns",
                                to="inference.comparison",
                            ),
                        ),
                        (
                            "predictor",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="inference.predictor",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "anica_app_comparedcolumn",
                        "ordering": ["comparison_id", "position"],
                    },
                ),
                migrations.CreateModel(
                    name="AnswerCache",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("block", models.BinaryField(max_length=32)),
                        ("cycles", models.FloatField(blank=True, null=True)),
                        (
                            "failure",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("crash", "crash"),
                                    ("timeout", "timeout"),
                                    ("unsupported", "unsupported"),
                                    ("no number", "no number"),
                                ],
                                default="",
                                max_length=12,
                            ),
                        ),
                        ("detail", models.CharField(blank=True, max_length=500)),
                        (
                            "predictor",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="answers",
                                to="inference.predictor",
                            ),
                        ),
                    ],
                    options={"db_table": "anica_app_answercache"},
                ),
                migrations.AddConstraint(
                    model_name="basicblock",
                    constraint=models.UniqueConstraint(
                        fields=("block_set", "position"), name="block_place_once"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="basicblock",
                    constraint=models.CheckConstraint(
                        condition=models.Q(("weight__isnull", True), ("weight__gte", 0), _connector="OR"),
                        name="block_weight",
                    ),
                ),
                migrations.AddIndex(
                    model_name="prediction",
                    index=models.Index(fields=["column", "cycles"], name="prediction_by_cycles"),
                ),
                migrations.AddConstraint(
                    model_name="prediction",
                    constraint=models.UniqueConstraint(
                        fields=("block", "column"), name="prediction_once_per_column"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="prediction",
                    constraint=models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("cycles__gte", 0), ("cycles__isnull", False), ("failure", "")),
                            models.Q(
                                ("cycles__isnull", True),
                                ("failure__in", ["crash", "timeout", "unsupported", "no number"]),
                            ),
                            _connector="OR",
                        ),
                        name="prediction_is_cycles_or_failure",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="comparedcolumn",
                    constraint=models.UniqueConstraint(
                        fields=("comparison", "position"), name="compared_column_place_once"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="blockcolumn",
                    constraint=models.UniqueConstraint(
                        fields=("block_set", "position"), name="column_place_once"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="blockcolumn",
                    constraint=models.UniqueConstraint(fields=("block_set", "name"), name="column_name_once"),
                ),
                migrations.AddConstraint(
                    model_name="answercache",
                    constraint=models.UniqueConstraint(
                        fields=("predictor", "block"), name="answer_once_per_block"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="answercache",
                    constraint=models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("cycles__gte", 0), ("cycles__isnull", False), ("failure", "")),
                            models.Q(
                                ("cycles__isnull", True),
                                ("failure__in", ["crash", "timeout", "unsupported", "no number"]),
                            ),
                            _connector="OR",
                        ),
                        name="answer_is_cycles_or_failure",
                    ),
                ),
            ]
        )
    ]
