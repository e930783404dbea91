#!/usr/bin/env python3
"""Django's command line for pmweb: `manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    """Run one management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pmweb.settings")
    try:
        from django.conf import settings  # noqa: PLC0415
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
        from django.core.management import execute_from_command_line  # noqa: PLC0415

        from inference.runs.data_directory import set_private_umask  # noqa: PLC0415
        from inference.sandbox import kernel  # noqa: PLC0415
        from pmweb.garbage import collect_rarely  # noqa: PLC0415

        collect_rarely()
        kernel.protect_process_memory()
        set_private_umask()
        try:
            _ = settings.HOME  # reads the settings, which need more libraries
        except ImproperlyConfigured as error:
            sys.exit(f"pmweb: {error}.")
    except ModuleNotFoundError as error:
        sys.exit(
            f"pmweb: {sys.executable} lacks the library {error.name!r}. Use the environment's Python: "
            "`.venv/bin/python manage.py …`; `make setup` makes that environment."
        )
    try:
        execute_from_command_line(sys.argv)
    except BrokenPipeError:  # whoever read, such as `head`, has seen enough; Python would flush once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)


if __name__ == "__main__":
    main()
