"""Numbers for programs that watch the site."""

from __future__ import annotations

import os
import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from inference.models import ISA, Machine, Run

SAMPLE = re.compile(
    r'^([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\})? (-?[0-9.e+-]+)$'
)
TOKEN = "t0ken"


@pytest.fixture
def numbers(client, db, settings):
    """The samples of a page, as {name with labels: value}; every line is one that Prometheus can read."""
    settings.METRICS_TOKEN = TOKEN

    def ask() -> dict[str, float]:
        answer = client.get(reverse("metrics"), headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        text = answer.content.decode()
        assert text.endswith("\n")
        samples, announced = {}, set()
        for line in text.splitlines():
            if line.startswith("# "):
                announced.add(line.split()[2])
                continue
            found = SAMPLE.match(line)
            assert found, line
            assert found[1] in announced or found[1].rpartition("_")[0] in announced  # of a histogram
            assert (found[2] is not None and 'pid="' in found[2]) == found[1].startswith("pmweb_process_")
            samples[found[1] + (found[2] or "")] = float(found[3])
        return samples

    return ask


def test_runs_are_counted_by_kind_and_state_also_where_there_are_none(numbers):
    Run.objects.create(name="a", kind="infer")
    Run.objects.create(name="b", kind="infer", state="done")
    found = numbers()
    assert found['pmweb_runs{kind="infer",state="queued"}'] == 1
    assert found['pmweb_runs{kind="infer",state="done"}'] == 1
    assert found['pmweb_runs{kind="import",state="failed"}'] == 0


def test_the_longest_wait_and_silent_workers_are_told(numbers):
    assert numbers()["pmweb_queue_wait_seconds"] == 0
    now = timezone.now()
    Run.objects.create(name="a", kind="infer")
    Run.objects.filter(name="a").update(created=now - timedelta(minutes=5))
    for name, late in (("b", -5), ("c", 5)):
        until = now + timedelta(seconds=late)
        Run.objects.create(name=name, kind="infer", state="running", lease_until=until, worker=name)
    found = numbers()
    assert 300 <= found["pmweb_queue_wait_seconds"] < 360
    assert (found["pmweb_runs_abandoned"], found["pmweb_workers"]) == (1, 2)


def test_agents_and_the_process_itself_are_told(numbers):
    isa = ISA.objects.create(name="x")
    Machine.objects.create(name="here", kind="agent", isa=isa, last_seen=timezone.now())
    Machine.objects.create(
        name="gone", kind="agent", isa=isa, last_seen=timezone.now() - timedelta(minutes=1)
    )
    found = numbers()
    assert found["pmweb_agents_online"] == 1
    own = f'{{pid="{os.getpid()}"}}'
    assert found[f"pmweb_process_resident_memory_bytes{own}"] > 1e6
    assert found[f"pmweb_process_open_fds{own}"] > 2
    assert f"pmweb_process_answer_seconds_count{own}" in found
    assert found['pmweb_batches{state="waiting"}'] == 0


def test_no_name_that_a_dashboard_may_ask_for_is_missing(numbers):
    """Those of 0.8, which stay."""
    names = {name.partition("{")[0].removeprefix("pmweb_") for name in numbers()}
    site = "info runs queue_wait_seconds runs_abandoned workers agents_online batches uploads_waiting"
    process = "resident_memory_bytes cpu_seconds_total open_fds failed_answers_total"
    answers = (f"answer_seconds_{part}" for part in ("bucket", "sum", "count"))
    of_process = (f"process_{name}" for name in (*process.split(), *answers))
    assert names >= {*site.split(), "database_bytes", *of_process}
    assert not any(name.endswith("_created") for name in names)


def test_quotes_and_line_ends_in_a_label_break_no_line(numbers):
    Run.objects.create(name="a", kind='ki"nd\\\n')
    assert numbers()['pmweb_runs{kind="ki\\"nd\\\\\\n",state="queued"}'] == 1


@pytest.mark.parametrize("shown", ["", "Bearer", "Bearer wrong", "Basic t0ken", "Bearer "])
def test_without_the_token_nothing_is_told(client, db, settings, shown):
    settings.METRICS_TOKEN = TOKEN
    answer = client.get(reverse("metrics"), headers={"Authorization": shown} if shown else {})
    assert answer.status_code == 401
    assert b"pmweb_runs" not in answer.content


def test_where_no_token_is_configured_an_empty_one_opens_nothing(client, db, settings):
    settings.METRICS_TOKEN = ""
    assert client.get(reverse("metrics"), headers={"Authorization": "Bearer "}).status_code == 401


def test_whoever_is_logged_in_may_look_and_public_reading_is_not_enough(client, administrator, settings):
    settings.METRICS_TOKEN = ""
    settings.PUBLIC_READING = True
    assert client.get(reverse("metrics")).status_code == 401
    client.force_login(administrator)
    assert client.get(reverse("metrics")).status_code == 200
