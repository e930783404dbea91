"""The frame of every page: login, security policy, colours, and pages for what goes wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from inference.figures import colours
from inference.models import ISA, ExperimentSet
from inference.web.presentation import capfirst, change, decimals, subscript
from inference.web.published_page import ProperName
from pmweb.accounts import people
from pmweb.middleware import no_body_for_head

PAGES = ["start", "isas", "sets", "machines", "upload"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_strangers_to_log_in(client: Client, db: None, name: str) -> None:
    answer = client.get(reverse(name))
    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_on_an_empty_database_and_says_what_to_do(visitor: Client, name: str) -> None:
    answer = visitor.get(reverse(name))
    assert answer.status_code == 200
    assert "<h1>" in answer.text
    assert reverse("upload") in answer.text or 'type="file"' in answer.text


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_inline_script_or_style(visitor: Client, isa: ISA, name: str) -> None:
    answer = visitor.get(reverse(name))
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", answer.text)
    assert not re.search(r"<[^>]+\s(style|on[a-z]+)=", answer.text)


def test_what_browsers_may_do_with_answers_and_cookies(client: Client, administrator: User) -> None:
    answer = client.post(reverse("login-link", args=[people.issue_link(administrator)]))
    page = client.get(reverse("upload"))
    assert page["X-Content-Type-Options"] == "nosniff"
    assert page["X-Frame-Options"] == "DENY"
    assert page["Referrer-Policy"] == "same-origin"
    cookies = {**answer.cookies, **page.cookies}
    assert cookies.keys() > {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert {cookie["samesite"] for cookie in cookies.values()} == {"Lax"}


def test_every_file_that_the_frame_asks_for_is_there(visitor: Client, db: None) -> None:
    page = visitor.get(reverse("sets")).text
    wanted = set(re.findall(r'(?:href|src)="/static/([^"#]+)', page))
    assert len(wanted) > 8
    assert [path for path in wanted if finders.find(path) is None] == []


def test_the_icons_that_templates_name_are_in_the_sprite() -> None:
    templates = Path(settings.BASE_DIR, "templates").rglob("*.html")
    named = {icon for path in templates for icon in re.findall(r'{% icon "(\w+)" %}', path.read_text())}
    sprite = set(re.findall(r'<symbol id="(\w+)"', Path(settings.BASE_DIR, "static/icons.svg").read_text()))
    assert named
    assert named <= sprite


def test_the_open_family_of_pages_is_marked_in_the_menu(visitor: Client, db: None) -> None:
    page = visitor.get(reverse("isas")).text
    marked = re.findall(r'<a href="([^"]+)" aria-current="page">', page)
    assert set(marked) == {reverse("isas")}


def test_the_style_sheet_has_the_palette_of_the_figures() -> None:
    tokens = Path(settings.BASE_DIR, "static/css/tokens.css").read_text()
    pairs = re.findall(r"--port-(\d+): light-dark\((#\w+), (#\w+)\)", tokens)
    assert [(light, dark) for _, light, dark in pairs] == list(zip(colours.LIGHT, colours.DARK, strict=True))
    assert [int(port) for port, _, _ in pairs] == list(range(len(colours.LIGHT)))


def test_the_vendored_plotly_is_the_version_that_the_python_package_writes_for() -> None:
    from plotly.offline import get_plotlyjs_version

    head = Path(settings.BASE_DIR, "static/vendor/plotly/plotly-cartesian.min.js").read_text()[:300]
    assert f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}" in head


def test_an_unknown_address_gets_a_page_with_a_way_back(visitor: Client, db: None) -> None:
    answer = visitor.get("/no/such/page/")
    assert answer.status_code == 404
    assert f'href="{reverse("start")}"' in answer.text


def test_a_form_without_its_token_is_refused_with_an_explanation(administrator: object, isa: ISA) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(administrator)  # type: ignore[arg-type]
    for name in ("upload", "upload-import-all", "example"):
        answer = strict.post(reverse(name))
        assert answer.status_code == 403
        assert "Nothing was changed" in answer.text


def test_a_server_error_gets_a_page_of_its_own(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("made by the test")

    monkeypatch.setattr("inference.features.library.schemes.pages.instruction_sets", broken)
    visitor.raise_request_exception = False
    answer = visitor.get(reverse("isas"))
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "made by the test" not in answer.text


def test_a_bad_address_gets_a_page_that_says_what_is_wrong_with_it(
    visitor: Client, experiment_set: ExperimentSet
) -> None:
    answer = visitor.get(reverse("set", args=[experiment_set.pk]), {"length": "<i>many"})
    assert answer.status_code == 400
    assert "length must be a whole number" in answer.text
    assert "&lt;i&gt;many" in answer.text


def test_too_many_files_at_once_are_told_how_many_are_right(visitor: Client, db: None) -> None:
    files = [SimpleUploadedFile(f"{number}.csv", b"x") for number in range(101)]
    answer = visitor.post(reverse("upload"), {"files": files})
    assert answer.status_code == 400
    assert "Too many files at once: send at most 100." in answer.text


def test_pages_are_private(visitor: Client, isa: ISA) -> None:
    assert visitor.get(reverse("isas")).headers["Cache-Control"] == "private, no-cache"
    assert "no-store" in visitor.get(reverse("login")).headers["Cache-Control"]


def test_an_answer_to_head_has_the_length_of_the_page_but_no_body() -> None:
    answer = no_body_for_head(lambda request: HttpResponse("x" * 100, headers={"Content-Length": "100"}))
    response = answer(RequestFactory().head("/"))
    assert (response.content, response.headers["Content-Length"]) == (b"", "100")
    assert answer(RequestFactory().get("/")).content == b"x" * 100


def test_a_suspicious_request_gets_the_same_page_without_details(visitor: Client, db: None) -> None:
    answer = visitor.get(reverse("start"), headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert "is not valid" in answer.text
    assert "evil.example" not in answer.text


@pytest.mark.parametrize(
    ("value", "places", "shown"),
    [(-3.0, 0, "−3 %"), (3.21, 1, "+3.2 %"), (-0.04, 1, "0.0 %"), (None, 1, "–"), (float("inf"), 1, "–")],
)
def test_a_change_has_a_sign_and_a_true_minus(value: float | None, places: int, shown: str) -> None:
    assert change(value, places).replace("\N{NO-BREAK SPACE}", " ") == shown


def test_a_negative_number_has_a_true_minus() -> None:
    assert decimals(-0.1234, 3) == "−0.123"


def test_headings_keep_mu_and_names() -> None:
    assert capfirst("µops") == "µops"
    assert capfirst("other µops") == "Other µops"
    assert capfirst(ProperName("zen4 · latencies, cycles")) == "zen4 · latencies, cycles"
    assert capfirst("") == ""


def test_r_max_is_written_with_its_subscript_and_the_text_around_it_stays_text() -> None:
    assert subscript("<b>R_max</b>") == "&lt;b&gt;R<sub>max</sub>&lt;/b&gt;"


def test_tables_that_are_read_page_by_page_have_a_firm_first_column() -> None:
    """Their rows come in pieces, and those that are there would wrap anew: .21 of the screen moved so."""
    pagers = '{% include "partials/pager.html"'
    loose = [
        path.relative_to(settings.BASE_DIR).as_posix()
        for path in (settings.BASE_DIR / "templates").rglob("*.html")
        for before in path.read_text().split(pagers)[:-1]
        if (tables := re.findall(r'<table class="([^"]*)"', before)) and "long" in tables[-1].split()
        if "paged" not in tables[-1].split()
    ]
    assert loose == []
    styles = (settings.BASE_DIR / "static/css/tables.css").read_text()
    assert re.search(r"table\.paged thead th:first-child \{ width: \d+%; \}", styles)
