"""`manage.py publish`: mappings, core models, comparisons and campaigns as a static site."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from pydantic import ValidationError

from inference.features.publishing.site.request import PublishRequest, item_named
from inference.features.publishing.site.static_site import published, write_folder, zipped
from inference.formats.problems import ExchangeError
from inference.web.data_command import DataCommand, write_file
from inference.web.published_page import PublishedKind
from inference.web.validation import what_is_right, what_is_wrong


class _Named(Action):
    """Keeps what is named in the order of the command line, whatever its kind."""

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
    """Publishing in the shell; see the module."""

    help = (
        "Write a page of a port mapping, a core model, a comparison or a campaign, or a gallery of several, "
        "as a static site: a folder, or a zip where the name ends so. It needs no server."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        for kind, names in _WHAT.items():
            parser.add_argument(
                f"--{kind}",
                action=_Named,
                const=kind,
                dest="named",
                metavar="NAME",
                help=f"{names}; repeatable",
            )
        parser.add_argument("--title", default="", help="of the page or the gallery")
        parser.add_argument("--text", default="", help="shown below the title")
        parser.add_argument(
            "target", type=Path, metavar="FOLDER", help="a new or empty folder, or a file.zip"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["target"]
        try:
            items = [item_named(kind, name) for kind, name in options["named"] or ()]
            wanted = PublishRequest(
                items=[str(item) for item in items], title=options["title"], text=options["text"]
            )
            _, files = published(wanted.chosen, wanted.title, wanted.text)
            if target.suffix.lower() == ".zip":
                write_file(target, zipped(files))
            else:
                write_folder(files, target)
        except ExchangeError as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            first = error.errors()[0]
            raise CommandError(
                f"{first['loc'][0]}: {what_is_wrong(first)}; {what_is_right(first)}"
            ) from error
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}") from error
        size = sum(map(len, files.values()))
        self.stdout.write(f"{target}: {len(files) - 1} files, {size / 2**20:.2f} MiB")


_WHAT = {
    PublishedKind.MAPPING: "a port mapping",
    PublishedKind.CORE: "a core model",
    PublishedKind.COMPARISON: "the run of a comparison of predictors",
    PublishedKind.CAMPAIGN: "a campaign",
}
