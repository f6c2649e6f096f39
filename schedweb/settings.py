"""Django settings: safe for production, configured only by ``SCHEDWEB_*`` variables."""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from psycopg.conninfo import conninfo_to_dict

from apps.scheduler.outgoing.rules import OutgoingRules
from schedweb import VERSION as VERSION
from schedweb import config as environment
from schedweb import pgmq
from schedweb.datafolder import TLS_AUTHORITY, lazy_secret_keys
from schedweb.front.bodies import LARGEST_BODY

CONFIG = environment.load()
BASE_DIR = environment.ROOT
DATA_DIR = CONFIG.data

# the first one signs and encrypts, what the others have signed and encrypted is still accepted
SECRET_KEY, *SECRET_KEY_FALLBACKS = CONFIG.secret_key.splitlines() or lazy_secret_keys(DATA_DIR)
DEBUG = CONFIG.debug
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", socket.gethostname(), *CONFIG.allowed_hosts]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "axes",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    # templates of form widgets
    "django.forms",
    "apps.cluster",
    "apps.people",
    "apps.engine",
    "apps.administration",
    "apps.api",
    "apps.dashboard",
    "schedweb",
]

MIDDLEWARE = [
    "schedweb.middleware.request_id",
    "schedweb.middleware.page_headers",
    "schedweb.middleware.refuse_nul",
    "django.middleware.security.SecurityMiddleware",
    "schedweb.compression.CompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.people.audit.middleware.audit_requests",
    # All views require a login, except those that declare otherwise: health, the login page.
    "apps.dashboard.gate.SignInRequired",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "apps.dashboard.gate.RouteGate",
    "apps.dashboard.zones.use_viewer_zone",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "schedweb.urls"
WSGI_APPLICATION = "schedweb.wsgi.application"
DATA_UPLOAD_MAX_MEMORY_SIZE = LARGEST_BODY
# Kubernetes clients send exact paths.
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "schedweb.templates.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.dashboard.preferences.preferences",
                "apps.dashboard.gate.rights",
            ],
        },
    },
]

#: Widgets may have templates in the project's folder.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# --- Database ---------------------------------------------------------------------------------

#: Without a database: commands that need none work, the others report what is missing.
NO_DATABASE = f"postgresql://schedweb@/schedweb?host={DATA_DIR}/no-database-is-running"


#: No transaction is idle for so long, even on a busy machine, unless its process is stopped.
IDLE_TRANSACTION_SECONDS = 30


def database(url: str) -> dict[str, Any]:
    """Django's description of the PostgreSQL at a libpq *url*."""
    options = {"application_name": pgmq.APPLICATION, **conninfo_to_dict(url)}
    # A process that stops in the middle of a transaction must not block the others.
    session = f"-c idle_in_transaction_session_timeout={IDLE_TRANSACTION_SECONDS}s"
    options["options"] = f"{options.get('options', '')} {session}".strip()
    sizes = {"min_size": 2, "max_size": 40, "timeout": 5}
    sizes |= {"reconnect_timeout": pgmq.RECONNECT_SECONDS}
    pool = sizes if CONFIG.connection_pool else False
    return {
        "ENGINE": "schedweb.postgresql",
        "NAME": options.pop("dbname", "schedweb"),
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": options.pop("host", ""),
        "PORT": options.pop("port", ""),
        # A pooled connection whose server restarted is replaced before a request gets it.
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**options, "pool": pool},
    }


#: With less space for the embedded database changes are refused (`apps.cluster.storage`).
MIN_FREE_MEGABYTES = CONFIG.min_free_megabytes

DATABASE_URL = CONFIG.running_database_url() or NO_DATABASE
DATABASES = {"default": database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Authentication -----------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = [
    # refuses attempts beyond the limits below
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "apps.people.openid.OpenIdBackend",
]
#: The OpenID Connect provider; None without one.
OPENID = CONFIG.openid
#: Wrong passwords of one account from one address, or from one known device, within the time; then
#: it has to wait. The handler has the other limits.
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=5)
AXES_HANDLER = "apps.people.throttling.Limits"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "apps.dashboard.views.accounts.show_lockout"
#: The front has replaced the address of a trusted proxy by that of its client.
AXES_CLIENT_IP_CALLABLE = "apps.people.throttling.client_address"
# the audit log has what these would record
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "old_password", "new_password1", "new_password2"]
AXES_ENABLE_ADMIN = False

SESSION_ENGINE = "apps.people.sessions"
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = LOGIN_URL
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("MinimumLengthValidator", "CommonPasswordValidator", "NumericPasswordValidator")
]

#: A server for mail with links; without one, links are only shown. Plain SMTP switches to TLS.
_SMTP = urlsplit(CONFIG.smtp_url)
EMAIL_HOST = _SMTP.hostname or ""
EMAIL_PORT = _SMTP.port or (465 if _SMTP.scheme == "smtps" else 587)
EMAIL_HOST_USER = unquote(_SMTP.username or "")
EMAIL_HOST_PASSWORD = unquote(_SMTP.password or "")
EMAIL_USE_SSL = _SMTP.scheme == "smtps"
EMAIL_USE_TLS = _SMTP.scheme == "smtp" and bool(EMAIL_HOST_USER)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = CONFIG.mail_from

# A site serves http (for a browser on this machine) and https; with a public name only https.
SECURE_SSL_REDIRECT = CONFIG.https_only
SESSION_COOKIE_SECURE = CONFIG.https_only
CSRF_COOKIE_SECURE = CONFIG.https_only
SECURE_HSTS_SECONDS = 31_536_000 if CONFIG.https_only else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = CONFIG.https_only
SECURE_HSTS_PRELOAD = CONFIG.https_only
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if CONFIG.https_only else None
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in CONFIG.allowed_hosts if "*" not in host]

#: The URL for Kubernetes clients, and the certificate that they must trust (``kubeconfig``).
PUBLIC_HTTPS_URL = CONFIG.https_url()
TLS_AUTHORITY_FILE = DATA_DIR / TLS_AUTHORITY

#: Knox makes and hashes tokens; the table and what is found by them are those of `apps.people`.
KNOX_TOKEN_MODEL = "people.AccessToken"
MIGRATION_MODULES = {"knox": None}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.people.authentication.BearerAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apps.api.gate.RoutePermission"],
    "DEFAULT_PARSER_CLASSES": [
        "apps.api.control.parsers.JsonParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "EXCEPTION_HANDLER": "apps.api.control.errors.handle",
    "DEFAULT_SCHEMA_CLASS": "apps.api.control.documentation.describing.ControlSchema",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "schedweb",
    "DESCRIPTION": "Mock Kubernetes clusters and all scheduling decisions in them.",
    "VERSION": VERSION,
    # schemas of this version are JSON Schema
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "docExpansion": "none",
        "filter": True,
        "persistAuthorization": True,
        "displayRequestDuration": True,
        "tryItOutEnabled": True,
        # colors for 700 KiB of a response stop the browser for 17 s, its text alone for 0.5 s
        "syntaxHighlight": {"activated": False},
        # no request leaves the site
        "validatorUrl": None,
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "apps.api.control.documentation.completing.complete_document",
    ],
    # one schema for the choices that source and target of a move share
    "ENUM_NAME_OVERRIDES": {
        "QueuePlaceEnum": "apps.engine.models.QueueMove.Place",
        "PodChangeEnum": "apps.studies.past.snapshot_differences.PodChange",
        "EffectEnum": "apps.studies.rebuilding.previewing.Effect",
        "ResultEnum": "apps.engine.models.SchedulingDecision.Result",
        "NodeChangeEnum": "apps.studies.past.snapshot_differences.NodeChange",
        "SettingChangeEnum": ["added", "removed", "changed"],
    },
}

# --- Static files: served by the application, directly from the packages ------------------------

STATIC_URL = "/static/"
STATICFILES_DIRS = [path for path in [BASE_DIR / "static"] if path.is_dir()]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# --- Language and time ------------------------------------------------------------------------

LANGUAGE_CODE = "en-us"
USE_I18N = False
TIME_ZONE = "UTC"

# --- Celery -----------------------------------------------------------------------------------

#: Seconds after which a task of a dead worker is redelivered; every task is shorter.
TASK_TIME_LIMIT = 60
CELERY_BROKER_URL = CONFIG.broker_url or "pgmq://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {"visibility_timeout": 2 * TASK_TIME_LIMIT}
#: After this time Valkey counts as unavailable; longer than its blocking reads, which take 1 s.
VALKEY_OPTIONS = {"socket_timeout": 5, "socket_connect_timeout": 5, "socket_keepalive": True}
if CONFIG.broker_url.startswith(("redis", "sentinel")):
    CELERY_BROKER_TRANSPORT_OPTIONS |= VALKEY_OPTIONS
elif not CONFIG.broker_url:
    CELERY_BROKER_TRANSPORT = pgmq.TRANSPORT
    CELERY_BROKER_TRANSPORT_OPTIONS |= pgmq.transport_options(DATABASE_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_DEFAULT_QUEUE = "schedweb"
# Tasks share the engines in memory, so workers are threads of one process.
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = 4
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    # A task that was not received before the next one is due is obsolete.
    name: {
        "task": f"apps.controlplane.tasks.{name}",
        "schedule": float(seconds),
        "options": {"expires": 2 * seconds},
    }
    for name, seconds in {
        "wake_due_clusters": 1,
        "move_clocks": 1,
        "flush_backoff": 1,
        "flush_unschedulable": 30,
        "forget_dead_workers": 60,
        "prepare_days": 3600,
        "retain": 600,
        "tend_operations": 5,
        "notify_webhooks": 2,
        "beat": 5,
        "sample_series": CONFIG.series_retention[0][0],
        "trim_series": 600,
    }.items()
}

# --- The control plane ------------------------------------------------------------------------

#: How much history of a cluster is kept by default: docs/ledger.md.
RETENTION = {
    "ledger_max_days": CONFIG.ledger_max_days,
    "ledger_max_decisions": CONFIG.ledger_max_decisions,
    "changelog_max_days": CONFIG.changelog_max_days,
    "changelog_covers_ledger": CONFIG.changelog_covers_ledger,
}

#: Days for which entries of the audit log are kept; 0: no limit.
AUDIT_MAX_DAYS = CONFIG.audit_max_days

#: Resolutions of charts over time, finest first: (width, retention) in seconds.
SERIES_RETENTION = CONFIG.series_retention
#: What extenders and webhooks may reach and read: docs/operations.md.
OUTGOING = OutgoingRules(
    CONFIG.outgoing_networks,
    CONFIG.outgoing_public,
    internal=CONFIG.is_personal,
    folders=CONFIG.tls_folders or ((Path("/"),) if CONFIG.is_personal else ()),
)

#: Out-of-tree scheduler plugins: docs/plugins/writing-a-plugin.md.
SCHEDWEB_PLUGINS = CONFIG.plugins
if CONFIG.legacy_plugins:
    SCHEDWEB_PLUGINS = (*SCHEDWEB_PLUGINS, "legacy_plugins:PACKAGE")

# --- Logging ----------------------------------------------------------------------------------

#: The log of decisions: apps.engine.loop.decision_log.
VERBOSITY = CONFIG.verbosity

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "schedweb.logs.RequestIdFilter"},
        "routine": {"()": "schedweb.logs.RoutineFilter"},
        "password_links": {"()": "schedweb.logs.PasswordLinkFilter"},
    },
    "formatters": {
        "text": {"()": "schedweb.logs.TextFormatter"},
        "json": {"()": "schedweb.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["request_id", "password_links"],
            "formatter": CONFIG.log_format,
        },
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"level": "INFO", "handlers": [], "propagate": True},
        "django.request": {"filters": ["routine"]},
        # One line per task would be several lines per second on an idle site.
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "uvicorn": {"level": "WARNING"},
        # the audit log has its messages
        "axes": {"level": "ERROR"},
    },
}
