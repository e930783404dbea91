"""How Sphinx builds this documentation: `make docs`. The site itself renders the same pages below /help/."""

import os
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
django.setup()

from pmweb import __version__ as release  # noqa: E402, F401

project = "pmweb"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["help"]  # the texts under "What is this page?"
html_theme = "furo"
html_title = "pmweb"
myst_heading_anchors = 4  # links such as formats.md#experiment-csv
autodoc_typehints = "description"
default_role = "code"  # docstrings quote code as Markdown does
suppress_warnings = ["misc.highlighting_failure"]  # no lexer knows all of these listings
