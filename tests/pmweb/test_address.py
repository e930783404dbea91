"""What the launcher says about where the site is, and by which names it answers."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlsplit

from pmweb.launcher import address


def test_loopback_names_always_answer():
    assert address.answering_names("192.0.2.7", ["example.org"], ["192.0.2.7", "192.0.2.8"]) == [
        "example.org",
        "localhost",
        "127.0.0.1",
        "192.0.2.7",
    ]


def test_serving_every_interface_answers_to_this_host_and_to_nothing_else():
    names = address.answering_names("0.0.0.0", ["localhost"], ["192.0.2.7", "192.0.2.8"])
    assert socket.gethostname() in names
    assert {"192.0.2.7", "192.0.2.8"} <= set(names)
    assert "*" not in names
    assert "0.0.0.0" not in names


def test_interface_addresses_are_ipv4_without_loopback():
    for found in address.interface_addresses():
        assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+", found)
        assert not found.startswith("127.")


def test_the_first_url_is_for_this_very_host():
    assert address.urls("127.0.0.1", 8000, ["192.0.2.7"]) == ["http://localhost:8000"]
    assert address.urls("0.0.0.0", 8000, ["192.0.2.7"]) == ["http://localhost:8000", "http://192.0.2.7:8000"]
    assert address.urls("192.0.2.7", 81, ["192.0.2.7"]) == ["http://192.0.2.7:81"]


def test_every_address_that_is_printed_is_answered_to():
    interfaces = ["192.0.2.7", "192.0.2.8"]
    for host in ("0.0.0.0", "127.0.0.1", "192.0.2.7"):
        printed = {urlsplit(url).hostname for url in address.urls(host, 8000, interfaces)}
        assert printed <= set(address.answering_names(host, [], interfaces))


def test_a_screen_needs_no_hint():
    assert address.screen_hint("127.0.0.1", 8000, {"DISPLAY": ":0"}) is None
    assert address.screen_hint("127.0.0.1", 8000, {"WAYLAND_DISPLAY": "wayland-0"}) is None


def test_over_ssh_the_hint_names_the_address_that_the_user_came_by():
    environment = {"SSH_CONNECTION": "198.51.100.1 5000 192.0.2.9 22", "DISPLAY": "localhost:10.0"}
    hint = address.screen_hint("127.0.0.1", 8123, environment)
    assert hint is not None
    assert re.search(r"ssh -L 8123:localhost:8123 \S+@192\.0\.2\.9", hint)


def test_serving_the_network_needs_no_tunnel():
    assert address.screen_hint("0.0.0.0", 8000, {}) is None
