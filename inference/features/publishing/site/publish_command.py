"""`manage.py publish`: writes mappings, core models, comparisons, campaigns and loops as a static site."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from pydantic import ValidationError

from inference.core.simulation.steady_state import compile_simulation
from inference.features.publishing.site.request import PublishRequest, item_named
from inference.features.publishing.site.static_site import build_site, write_folder, zip_files
from inference.formats.problems import ExchangeError
from inference.web.data_command import DataCommand, write_file
from inference.web.published_page import PublishedKind
from inference.web.validation import error_message, expected_value


class _AppendItem(Action):
    """Appends (kind, name) to one list, so that items of all kinds stay in the order of the command line."""

    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        named = [*(getattr(namespace, self.dest, None) or []), (self.const, values)]
        setattr(namespace, self.dest, named)


class Command(DataCommand):
    help = (
        "Write a page of a port mapping, a core model, a comparison, a campaign or explained loops, or a "
        "gallery of several, as a static site: a folder, or a zip if the name ends in .zip. It needs no "
        "server."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        for kind, names in _KIND_HELP.items():
            parser.add_argument(
                f"--{kind}",
                action=_AppendItem,
                const=kind,
                dest="named",
                metavar="NAME",
                help=f"{names}; repeatable",
            )
        parser.add_argument("--title", default="", help="title of the page or the gallery")
        parser.add_argument("--text", default="", help="text below the title")
        parser.add_argument(
            "target", type=Path, metavar="FOLDER", help="a new or empty folder, or a file.zip"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["target"]
        try:
            items = [item_named(kind, name) for kind, name in options["named"] or ()]
            if any(item.kind is PublishedKind.LOOP for item in items):
                compile_simulation()  # pages of a site have no timeline until that is done
            selection = PublishRequest(
                items=[str(item) for item in items], title=options["title"], text=options["text"]
            )
            _, files = build_site(selection.chosen, selection.title, selection.text)
            if target.suffix.lower() == ".zip":
                write_file(target, zip_files(files))
            else:
                write_folder(files, target)
        except ExchangeError as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            first = error.errors()[0]
            raise CommandError(
                f"{first['loc'][0]}: {error_message(first)}; {expected_value(first)}"
            ) from error
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}") from error
        size = sum(map(len, files.values()))
        self.stdout.write(f"{target}: {len(files) - 1} files, {size / 2**20:.2f} MiB")


_KIND_HELP = {
    PublishedKind.MAPPING: "a port mapping",
    PublishedKind.CORE: "a core model",
    PublishedKind.COMPARISON: "the run of a comparison of predictors",
    PublishedKind.CAMPAIGN: "a campaign",
    PublishedKind.LOOP: "a run that predicted or measured loops and other blocks, which are explained",
}
