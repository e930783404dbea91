"""Registers the counting job when Django starts, in child processes too."""

from django.apps import AppConfig


class CountingConfig(AppConfig):
    name = "tests.runs.counting"
    label = "counting"

    def ready(self):
        from inference.runs.kinds import register
        from tests.runs.counting.job import COUNTING

        register([COUNTING])
