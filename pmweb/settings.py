"""Django settings. Everything that differs between installations comes from the environment.

| variable | meaning | default |
|---|---|---|
| `PMWEB_HOME` | database, secret key, collected static files | `./var` |
| `PMWEB_SHARED` | published data for tests and benchmarks | `../shared` |
| `PMWEB_SECRET_KEY` | Django's secret key | generated once, kept in `$PMWEB_HOME/secret-key` |
| `PMWEB_ALLOWED_HOSTS` | comma-separated host names the site answers to | loopback names and this host's |
| `PMWEB_RUN_MEMORY_MB` | MiB of memory that one run may use; 0: no limit | three quarters of this host's |
| `PMWEB_DASK` | Dask scheduler whose workers help, `tcp://host:port` or `tls://host:port` | none |
| `PMWEB_DEBUG` | `1` shows tracebacks in the browser | off |
"""

from __future__ import annotations

import os
import socket
from functools import partial
from pathlib import Path

from csp.constants import NONE, SELF
from django.utils.functional import SimpleLazyObject

from pmweb.secret import load_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("PMWEB_HOME") or BASE_DIR / "var").resolve()
SHARED = Path(os.environ.get("PMWEB_SHARED") or BASE_DIR.parent / "shared").resolve()

DEBUG = os.environ.get("PMWEB_DEBUG") == "1"
# Made when it is first needed: a command that only looks for data leaves no data directory behind.
SECRET_KEY = os.environ.get("PMWEB_SECRET_KEY") or SimpleLazyObject(partial(load_secret_key, HOME))
ALLOWED_HOSTS = [
    host.strip()
    for host in os.environ.get(
        "PMWEB_ALLOWED_HOSTS", f"localhost,127.0.0.1,[::1],{socket.gethostname()}"
    ).split(",")
    if host.strip()
]

INSTALLED_APPS = [
    "daphne",
    "pmweb",
    "inference",
    "anica_app",
    "channels",
    "csp",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "pmweb.middleware.no_body_for_head",
    "pmweb.middleware.private_answers",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "pmweb.urls"
ASGI_APPLICATION = "pmweb.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["django.templatetags.static", "inference.views.presentation"],
        },
    }
]

# WAL lets readers go on beside one writer; IMMEDIATE takes the write lock at BEGIN, where busy_timeout can
# wait for it, instead of in mid-transaction, where SQLite gives up at once.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": HOME / "pmweb.sqlite3",
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A message is only a doorbell: the database is the truth, and everybody looks by themselves as well.
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = HOME / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

_PHYSICAL_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
RUN_MEMORY_LIMIT_BYTES = (
    int(os.environ.get("PMWEB_RUN_MEMORY_MB") or _PHYSICAL_MEMORY * 3 // 4 // 2**20) * 2**20 or None
)

DASK = os.environ.get("PMWEB_DASK", "").strip()

UPLOAD_LIMIT_BYTES = 64 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4000
DATA_UPLOAD_MAX_NUMBER_FILES = 100

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "pmweb.logs.TerminalFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "pmweb": {"level": "INFO"},
        "inference": {"level": "INFO"},
        "django.request": {"level": "ERROR"},  # a page that is not there is the visitor's news
        "django.channels": {"level": "WARNING"},  # says that a worker runs, which the worker says as well
    },
}
