"""A name is a line for every kind of row, whoever gives it."""

from __future__ import annotations

import pytest
from django.apps import apps

from inference.core.texts import is_line
from inference.formats.problems import ExchangeError
from inference.models import Run
from inference.models.named import Named
from inference.runs import lifecycle
from inference.runs.errors import ConfigError
from inference.storage.names import check_name_free, free_name
from inference.web.naming import NameAndNoteForm
from tests.hostile_texts import WORST

pytestmark = pytest.mark.django_db
MODELS = [model for model in apps.get_models() if issubclass(model, Named)]
NO_LINES = [text for text in WORST[::5] if not is_line(text)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_row_is_called_by_more_than_a_line(model: type[Named]) -> None:
    assert len(NO_LINES) > 20
    for text in NO_LINES:
        with pytest.raises(ExchangeError, match=r"has U\+[0-9A-F]{4} at character"):
            check_name_free(model, text)
        assert is_line(free_name(model, text))


def test_no_run_is_called_by_more_than_a_line() -> None:
    for text in NO_LINES:
        if text.strip() == text:
            with pytest.raises(ConfigError, match="the name of a run"):
                lifecycle.submit("evaluate", {}, text)
    assert not Run.objects.exists()


def test_the_form_says_what_is_wrong_with_a_name() -> None:
    row = MODELS[0](name="before")
    form = NameAndNoteForm(row, {"name": "a\nb", "note": ""})
    assert not form.is_valid()
    assert "a line of printable characters is expected" in str(form.errors["name"])
