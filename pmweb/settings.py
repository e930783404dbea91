"""Django settings. Everything that differs between installations comes from the environment.

`docs/operating.md` says what each variable means, and its default.
"""

from __future__ import annotations

import os
import socket
from functools import partial
from pathlib import Path

from csp.constants import NONE, SELF
from django.utils.functional import SimpleLazyObject

from pmweb import environment
from pmweb.environment import load_secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("PMWEB_HOME") or BASE_DIR / "var").resolve()
SHARED = Path(os.environ.get("PMWEB_SHARED") or BASE_DIR.parent / "shared").resolve()

DEBUG = environment.flag("PMWEB_DEBUG")
# Lazy: a command that only reads must not create a data directory.
SECRET_KEY = os.environ.get("PMWEB_SECRET_KEY") or SimpleLazyObject(partial(load_secret_key, HOME))
ALLOWED_HOSTS = environment.words("PMWEB_ALLOWED_HOSTS", f"localhost,127.0.0.1,[::1],{socket.gethostname()}")
URL = os.environ.get("PMWEB_URL", "").strip().rstrip("/")
CSRF_TRUSTED_ORIGINS = environment.words("PMWEB_CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "inference",
    "anica_app",
    "pmweb",
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
    "pmweb.middleware.no_address_with_token",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "pmweb.accounts.sessions.record_use",
    "pmweb.accounts.api_access.record_caller",
    "django.contrib.messages.middleware.MessageMiddleware",
    "pmweb.permissions.middleware.Permissions",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "pmweb.middleware.NoNulCharacters",
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
                "pmweb.accounts.roles.rights",
            ],
            "builtins": [
                "django.templatetags.static",
                "inference.web.presentation",
                "anica_app.web.presentation",
                "inference.features.asking.predictors.modes",
                "pmweb.help",
            ],
        },
    }
]

DATABASES = {"default": environment.database(HOME)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Messages are only wake-ups: all processes also poll the database.
REDIS_URL = os.environ.get("PMWEB_REDIS_URL", "").strip()
CHANNEL_LAYERS = environment.channel_layers(REDIS_URL)

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AUTHENTICATION_BACKENDS = ["pmweb.accounts.backend.Accounts"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static", ("docs", BASE_DIR / "docs" / "images")]
STATIC_ROOT = HOME / "static"
FILE_UPLOAD_PERMISSIONS = 0o600  # the data directory is private to its owner
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "pmweb.static_files.StaticFiles"},
}

_PHYSICAL_MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
RUN_MEMORY_LIMIT_BYTES = (
    environment.number("PMWEB_RUN_MEMORY_MB", _PHYSICAL_MEMORY * 3 // 4 // 2**20) * 2**20 or None
)

RUN_NICENESS = min(environment.number("PMWEB_RUN_NICENESS", 10), 19)

DASK = os.environ.get("PMWEB_DASK", "").strip()

# Limits; permissions are in pmweb/permissions.
PUBLIC_READING = environment.flag("PMWEB_PUBLIC_READING")
WEB_PROCESSES = max(1, environment.number("PMWEB_WEB_PROCESSES", 1))
RUNS_PER_USER = environment.number("PMWEB_RUNS_PER_USER", 100)
UPLOADS_PER_USER = environment.number("PMWEB_UPLOADS_PER_USER", 200)
UPLOADED_BYTES_PER_USER = environment.number("PMWEB_UPLOADS_MB_PER_USER", 1024) * 2**20
UPLOAD_LIMIT_BYTES = environment.number("PMWEB_UPLOAD_MB", 64) * 2**20
# Largest request of users who may upload (pmweb/launcher/daphne.py).
REQUEST_LIMIT_BYTES = max(environment.number("PMWEB_REQUEST_MB", 512) * 2**20, UPLOAD_LIMIT_BYTES + 2**20)
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 4000

# Retention of old data in days (answers: rows per predictor); 0: forever. See pmweb/retention.py.
KEEP = {
    trace: environment.number(f"PMWEB_KEEP_{trace.upper()}", default)
    for trace, default in (
        ("checkpoints", 7),
        ("journals", 90),
        ("samples", 365),
        ("answers", 0),
        ("uploads", 0),
        ("sessions", 30),
        ("audit", 0),
    )
}
PRUNE_NIGHTLY = environment.flag("PMWEB_PRUNE_NIGHTLY")

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
SESSION_ENGINE = "pmweb.accounts.sessions"

# Behind a proxy with TLS. Only the proxy may reach the web process: its X-Forwarded headers are trusted.
TLS = environment.flag("PMWEB_TLS")
TRUSTED_PROXIES = environment.networks("PMWEB_TRUSTED_PROXIES", "0.0.0.0/0,::/0" if TLS else "")
PROCESSOR_SECONDS = environment.number("PMWEB_PROCESSOR_SECONDS", 30)
HEAD_SECONDS = environment.number("PMWEB_HEAD_SECONDS", 20)
BODY_SECONDS = environment.number("PMWEB_BODY_SECONDS", 4 * 3600)
STALL_SECONDS = environment.number("PMWEB_STALL_SECONDS", 30)
BYTES_PER_SECOND = max(1, environment.number("PMWEB_BYTES_PER_SECOND", 1024))
SOCKETS_PER_PERSON = environment.number("PMWEB_SOCKETS_PER_PERSON", 100)
CONNECTIONS_PER_ADDRESS = environment.number("PMWEB_CONNECTIONS_PER_ADDRESS", 200)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TLS else None
SECURE_SSL_REDIRECT = TLS
SECURE_REDIRECT_EXEMPT = [r"^health/$", r"^metrics/$"]  # read without the proxy, over HTTP
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = environment.flag("PMWEB_SECURE_COOKIES", default=TLS)
SECURE_HSTS_SECONDS = environment.number("PMWEB_HSTS_SECONDS", 365 * 24 * 3600 if TLS else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = environment.flag("PMWEB_HSTS_SUBDOMAINS", default=True)
SECURE_HSTS_PRELOAD = environment.flag("PMWEB_HSTS_PRELOAD")
# HSTS preload lists cover whole domains and take months to undo: the domain's owner decides.
SILENCED_SYSTEM_CHECKS = ["security.W021"]

# Implements `inference.web.api.access.AccessRules`.
API_ACCESS = "pmweb.accounts.api_access.access"

ALLOW_COMMANDS = environment.flag("PMWEB_ALLOW_COMMANDS")

WEBHOOK = environment.webhook("PMWEB_WEBHOOK")
WEBHOOK_INTERNAL = environment.flag("PMWEB_WEBHOOK_INTERNAL")

METRICS_TOKEN = os.environ.get("PMWEB_METRICS_TOKEN", "").strip()

LOG_FORMAT = environment.choice("PMWEB_LOG_FORMAT", ("text", "json"))
ACCESS_LOG = os.environ.get("PMWEB_ACCESS_LOG", "").strip()

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "pmweb.logs.TerminalFormatter"},
        "json": {"()": "pmweb.logs.JsonFormatter"},
        "access": {"()": "pmweb.logs.AccessFormatter"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT},
        "access": {
            **environment.log_file("PMWEB_ACCESS_LOG"),
            "formatter": "json" if LOG_FORMAT == "json" else "access",
        },
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "pmweb": {"level": "INFO"},
        "pmweb.access": {"level": "INFO", "handlers": ["access"], "propagate": False},
        "inference": {"level": "INFO"},
        "django.request": {"level": "ERROR"},  # no lines for missing pages
        "psycopg.pool": {"level": "ERROR"},  # no lines for connections that the server closed
        "channels_redis": {"level": "CRITICAL"},  # a traceback every second; the relay logs an outage once
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # scanners that try host names
        "django.channels": {"level": "WARNING"},  # repeats the worker's own line
    },
}
