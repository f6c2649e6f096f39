"""Reads and validates the environment variables, for the settings and the supervisor."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote, urlsplit

ROOT = Path(__file__).resolve().parent.parent

#: The part of SCHEDWEB_ALIVE_FILE (`schedweb.alive`), which is no setting by file.
ALIVE = "SCHEDWEB_ALIVE"

#: Contains the URL of the embedded database while it runs.
DATABASE_POINTER = Path("run") / "database"

#: Written by ``make up``: the site's https URL, whose port may differ from the configured one.
SITE_POINTER = Path("run") / "https-url"

#: Default of SCHEDWEB_SERIES_RETENTION: width:retention of each resolution of the charts.
_SERIES = "10s:6h 1m:3d 10m:35d 1h:400d 1d:1830d"
_HOST = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*\.?")
_SPAN = re.compile(r"([1-9]\d{0,5})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class InvalidEnvironment(Exception):
    """An environment variable has an invalid value."""


@dataclass(frozen=True, slots=True)
class OpenIdSettings:
    """The OpenID Connect provider of the site."""

    issuer: str
    client_id: str
    client_secret: str
    #: What the login page calls it.
    label: str = "OpenID Connect"
    #: The claim with the name of a new user.
    name_claim: str = "preferred_username"
    #: Whether a user whom the site does not know is created.
    creates_users: bool = True
    #: Whether a verified e-mail address is enough to be a user who was invited with it.
    links_emails: bool = False
    #: The claim with the names of a user's groups; "" if the provider manages no groups.
    groups_claim: str = ""
    scope: str = "openid profile email"


@dataclass(frozen=True, slots=True)
class Config:
    """The variables ``SCHEDWEB_*``; the README describes them."""

    data: Path
    bind: str
    port: int
    tls_port: int
    #: libpq URL of an external PostgreSQL; "" means the embedded one.
    database_url: str
    #: kombu URL; "" means pgmq on the same PostgreSQL.
    broker_url: str
    admin_password: str
    secret_key: str
    allowed_hosts: tuple[str, ...]
    workers: int
    #: Processes of the web front, which share its ports.
    web_processes: int
    debug: bool
    https_only: bool
    #: Addresses whose X-Forwarded-Proto is believed.
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    public_url: str
    #: Servers pool connections; a command has one, and fails at once without a database.
    connection_pool: bool
    #: What requests may hold at a time; others are answered 429.
    max_requests_inflight: int = 400
    max_body_megabytes: int = 128
    #: Connections of one address to a web process; health is answered beyond it; 0: no limit.
    address_connections: int = 2000
    #: With less free space for the embedded database, changes are refused; 0: never.
    min_free_megabytes: int = 256
    #: Who may create clusters: "users" or "admins" of the site.
    cluster_creation: str = "users"
    #: Limits of each user; 0: no limit. None: `request_rate` has the default.
    user_requests_per_second: int | None = None
    user_streams: int = 0
    user_operations: int = 0
    #: Streams of all users at a time.
    max_streams: int = 0
    #: Objects of each cluster; 0: no limit.
    cluster_objects: int = 0
    #: Memory of the web process in MiB, above which large requests are answered 429; 0: no limit.
    web_memory_megabytes: int = 0
    #: "text" for people, "json" for programs.
    log_format: str = "text"
    #: 0 to 10, as kube-scheduler's -v: the log verbosity of decisions.
    verbosity: int = 1
    #: How much history of each cluster is kept; 0 = no limit.
    ledger_max_days: int = 90
    ledger_max_decisions: int = 1_000_000
    changelog_max_days: int = 90
    #: Whether to keep the changes from which a retained decision can be rebuilt.
    changelog_covers_ledger: bool = True
    #: The OpenID Connect provider of the site; None = users have passwords only.
    openid: OpenIdSettings | None = None
    #: Mail server that sends links, smtp://user:password@host:port or smtps://…; "" = none.
    smtp_url: str = ""
    mail_from: str = "schedweb@localhost"
    #: How long entries of the audit log are kept, in days; 0 = no limit.
    audit_max_days: int = 365
    #: Width of the buckets of charts over time -> how long they are retained, in seconds.
    series_retention: tuple[tuple[int, int], ...] = ((10, 21_600),)
    #: Where extenders and webhooks may be; None: `OutgoingRules` has the default.
    outgoing_networks: tuple[IPv4Network | IPv6Network, ...] | None = None
    #: Whether they may also be at any address in the Internet.
    outgoing_public: bool = False
    #: Folders whose files the TLS settings of extenders may name; None: see `is_personal`.
    tls_folders: tuple[Path, ...] | None = None
    #: Out-of-tree scheduler plugins, each as "package.module:Class".
    plugins: tuple[str, ...] = ()
    #: Whether the plugins of earlier releases and the converter are loaded, too.
    legacy_plugins: bool = True

    @property
    def embedded_database(self) -> bool:
        return not self.database_url

    @property
    def is_personal(self) -> bool:
        """Whether only its own machine can reach the site; one behind a proxy has a name."""
        local = self.bind == "localhost" or _is_loopback(self.bind)
        return local and not self.public_url and not self.allowed_hosts

    @property
    def request_rate(self) -> int:
        """Requests per second of a user; 0: no limit, as on a site for one machine."""
        if self.user_requests_per_second is not None:
            return self.user_requests_per_second
        return 0 if self.is_personal else 1000

    def running_database_url(self) -> str:
        """The URL of the current database; "" if the embedded one is not running."""
        return self.database_url or self._read(DATABASE_POINTER)

    def https_url(self) -> str:
        """The base URL for programs, without a trailing slash."""
        here = f"https://localhost:{self.tls_port}"
        return (self.public_url or self._read(SITE_POINTER) or here).rstrip("/")

    def _read(self, pointer: Path) -> str:
        try:
            return (self.data / pointer).read_text(encoding="utf-8").strip()
        except OSError:
            return ""


def load(environ: Mapping[str, str] = os.environ) -> Config:
    """Read the environment. Raises :class:`InvalidEnvironment` with the name of the variable.

    A variable ``NAME_FILE`` is the file with the value of NAME, unless NAME is given, too.
    """
    environ = _with_files(environ)
    outgoing_networks, outgoing_public = _outgoing(environ)
    return Config(
        data=Path(environ.get("SCHEDWEB_DATA") or ROOT / "var").expanduser().absolute(),
        bind=_bind(environ),
        port=_integer(environ, "SCHEDWEB_PORT", 8000, lowest=0, highest=65535),
        tls_port=_integer(environ, "SCHEDWEB_TLS_PORT", 8443, lowest=0, highest=65535),
        database_url=_database_url(environ),
        broker_url=_broker_url(environ),
        admin_password=environ.get("SCHEDWEB_ADMIN_PASSWORD", ""),
        secret_key=environ.get("SCHEDWEB_SECRET_KEY", ""),
        allowed_hosts=_hosts(environ, "SCHEDWEB_ALLOWED_HOSTS"),
        workers=_integer(environ, "SCHEDWEB_WORKERS", 1, lowest=1, highest=64),
        # one that dies or hangs is not noticed while there is another
        web_processes=_integer(environ, "SCHEDWEB_WEB_PROCESSES", 2, lowest=1, highest=4),
        debug=_switch(environ, "SCHEDWEB_DEBUG"),
        https_only=_switch(environ, "SCHEDWEB_HTTPS_ONLY"),
        trusted_proxies=_networks(environ, "SCHEDWEB_TRUSTED_PROXIES", "127.0.0.0/8,::1/128"),
        public_url=_public_url(environ),
        connection_pool=environ.get("SCHEDWEB_CONNECTION_POOL") != "0",
        max_requests_inflight=_integer(
            environ, "SCHEDWEB_MAX_REQUESTS_INFLIGHT", 400, lowest=1, highest=100_000
        ),
        # at least one body of the largest size
        max_body_megabytes=_integer(
            environ, "SCHEDWEB_MAX_BODY_MEGABYTES", 128, lowest=64, highest=100_000
        ),
        address_connections=_limit(environ, "SCHEDWEB_ADDRESS_CONNECTIONS", 2000),
        min_free_megabytes=_integer(
            environ, "SCHEDWEB_MIN_FREE_MEGABYTES", 256, lowest=0, highest=1_000_000
        ),
        cluster_creation=_one_of(environ, "SCHEDWEB_CLUSTER_CREATION", ("users", "admins")),
        user_requests_per_second=_limit(environ, "SCHEDWEB_USER_REQUESTS_PER_SECOND", 0)
        if environ.get("SCHEDWEB_USER_REQUESTS_PER_SECOND")
        else None,
        user_streams=_limit(environ, "SCHEDWEB_USER_STREAMS", 1000),
        user_operations=_limit(environ, "SCHEDWEB_USER_OPERATIONS", 20),
        max_streams=_limit(environ, "SCHEDWEB_MAX_STREAMS", 5000),
        cluster_objects=_limit(environ, "SCHEDWEB_CLUSTER_OBJECTS", 1_000_000),
        web_memory_megabytes=_limit(environ, "SCHEDWEB_WEB_MEMORY_MEGABYTES", 1024),
        log_format=_one_of(environ, "SCHEDWEB_LOG_FORMAT", ("text", "json")),
        verbosity=_integer(environ, "SCHEDWEB_VERBOSITY", 1, lowest=0, highest=10),
        ledger_max_days=_integer(environ, "SCHEDWEB_LEDGER_MAX_DAYS", 90, lowest=0, highest=36500),
        ledger_max_decisions=_integer(
            environ, "SCHEDWEB_LEDGER_MAX_DECISIONS", 1_000_000, lowest=0, highest=10**9
        ),
        changelog_max_days=_integer(
            environ, "SCHEDWEB_CHANGELOG_MAX_DAYS", 90, lowest=0, highest=36500
        ),
        changelog_covers_ledger=environ.get("SCHEDWEB_CHANGELOG_COVERS_LEDGER", "") == ""
        or _switch(environ, "SCHEDWEB_CHANGELOG_COVERS_LEDGER"),
        openid=_openid(environ),
        smtp_url=_smtp_url(environ),
        mail_from=environ.get("SCHEDWEB_MAIL_FROM") or "schedweb@localhost",
        audit_max_days=_integer(environ, "SCHEDWEB_AUDIT_MAX_DAYS", 365, lowest=0, highest=36500),
        series_retention=_series(environ.get("SCHEDWEB_SERIES_RETENTION") or _SERIES),
        outgoing_networks=outgoing_networks,
        outgoing_public=outgoing_public,
        tls_folders=_folders(environ, "SCHEDWEB_TLS_FOLDERS"),
        plugins=_words(environ.get("SCHEDWEB_PLUGINS", "")),
        legacy_plugins=environ.get("SCHEDWEB_LEGACY_PLUGINS", "") == ""
        or _switch(environ, "SCHEDWEB_LEGACY_PLUGINS"),
    )


def _with_files(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables, with those that are given as files."""
    values = dict(environ)
    for variable, path in environ.items():
        name = variable.removesuffix("_FILE")
        if not variable.startswith("SCHEDWEB_") or name == variable or not path:
            continue
        if name != ALIVE and not values.get(name):
            try:
                values[name] = Path(path).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise InvalidEnvironment(f"{variable} cannot be read: {error}") from error
    return values


def _outgoing(
    environ: Mapping[str, str],
) -> tuple[tuple[IPv4Network | IPv6Network, ...] | None, bool]:
    """Where extenders and webhooks may be; None: the default. And whether `global` is listed."""
    name = "SCHEDWEB_OUTGOING_NETWORKS"
    words = _words(environ.get(name, ""))
    networks = [word for word in words if word != "global"]
    networks_found = _networks({name: ",".join(networks)}, name, "")
    return networks_found if words else None, "global" in words


def _networks(
    environ: Mapping[str, str], name: str, default: str
) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ip_network(word) for word in _words(environ.get(name) or default))
    except ValueError as error:
        raise InvalidEnvironment(f"{name} must be addresses or networks: {error}") from error


def _folders(environ: Mapping[str, str], name: str) -> tuple[Path, ...] | None:
    """Absolute folders, separated by commas or spaces; None if there are none."""
    folders = tuple(Path(word) for word in _words(environ.get(name, "")))
    for folder in folders:
        if not folder.is_absolute():
            raise InvalidEnvironment(f"{name} must be absolute folders, not {str(folder)!r}")
    return folders or None


@lru_cache(maxsize=10)
def _is_loopback(bind: str) -> bool:
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return False


def _integer(
    environ: Mapping[str, str], name: str, default: int, *, lowest: int, highest: int
) -> int:
    text = environ.get(name) or str(default)
    if not text.isdecimal() or not lowest <= int(text) <= highest:
        raise InvalidEnvironment(
            f"{name} must be an integer from {lowest} to {highest}, not {text!r}"
        )
    return int(text)


def _limit(environ: Mapping[str, str], name: str, default: int) -> int:
    """A number of something; 0: no limit."""
    return _integer(environ, name, default, lowest=0, highest=10**9)


def _switch(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(name, "").lower()
    if text not in {"", "0", "1", "false", "true", "no", "yes"}:
        raise InvalidEnvironment(f"{name} must be 1 or 0, not {text!r}")
    return text in {"1", "true", "yes"}


def _one_of(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    """One of *choices*; the first is the default."""
    text = environ.get(name, "").lower() or choices[0]
    if text not in choices:
        raise InvalidEnvironment(f"{name} must be {' or '.join(choices)}, not {text!r}")
    return text


def _database_url(environ: Mapping[str, str]) -> str:
    url = environ.get("SCHEDWEB_DATABASE_URL", "")
    if url and not url.startswith(("postgresql://", "postgres://")):
        raise InvalidEnvironment("SCHEDWEB_DATABASE_URL must start with postgresql://")
    password = environ.get("SCHEDWEB_DATABASE_PASSWORD", "")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidEnvironment(f"SCHEDWEB_DATABASE_URL is no URL: {error}") from error
    if not password or parts.password or not parts.username:
        return url
    place = parts.netloc.replace("@", f":{quote(password, safe='')}@", 1)
    return parts._replace(netloc=place).geturl()


def _bind(environ: Mapping[str, str]) -> str:
    bind = environ.get("SCHEDWEB_BIND") or "127.0.0.1"
    if not _is_host(bind):
        raise InvalidEnvironment(f"SCHEDWEB_BIND must be an address or a name, not {bind!r}")
    return bind


def _broker_url(environ: Mapping[str, str]) -> str:
    """The URL of a broker that the processes can use: Redis or Valkey, or none."""
    url = environ.get("SCHEDWEB_BROKER_URL", "")
    if url and not _is_url(url, ("redis", "rediss")):
        raise InvalidEnvironment("SCHEDWEB_BROKER_URL must be redis://host or rediss://host")
    return url


def _public_url(environ: Mapping[str, str]) -> str:
    url = environ.get("SCHEDWEB_PUBLIC_URL", "")
    if url and not _is_url(url, ("https", "http")):
        raise InvalidEnvironment(f"SCHEDWEB_PUBLIC_URL must be https://host, not {url!r}")
    return url


def _hosts(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Names of hosts, as in the header Host but without a port; ".name": also those below it."""
    words = _words(environ.get(name, ""))
    for word in words:
        if word != "*" and not _is_host(word.removeprefix(".").strip("[]")):
            raise InvalidEnvironment(f"{name} must be names without scheme and port, not {word!r}")
    return words


def _is_url(text: str, schemes: Sequence[str]) -> bool:
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in schemes
            and _is_host(parts.hostname or "")
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:  # the port is no number
        return False


def _is_host(text: str) -> bool:
    """Whether it can be an address or the name of a host."""
    try:
        ip_address(text)
    except ValueError:
        return _HOST.fullmatch(text) is not None
    return True


def _openid(environ: Mapping[str, str]) -> OpenIdSettings | None:
    issuer = environ.get("SCHEDWEB_OIDC_ISSUER", "")
    if not issuer:
        return None
    if not issuer.startswith(("https://", "http://localhost", "http://127.0.0.1")):
        raise InvalidEnvironment("SCHEDWEB_OIDC_ISSUER must start with https://")
    for name in ("SCHEDWEB_OIDC_CLIENT_ID", "SCHEDWEB_OIDC_CLIENT_SECRET"):
        if not environ.get(name):
            raise InvalidEnvironment(f"{name} must be set if SCHEDWEB_OIDC_ISSUER is")
    return OpenIdSettings(
        issuer,
        environ["SCHEDWEB_OIDC_CLIENT_ID"],
        environ["SCHEDWEB_OIDC_CLIENT_SECRET"],
        label=environ.get("SCHEDWEB_OIDC_LABEL") or "OpenID Connect",
        name_claim=environ.get("SCHEDWEB_OIDC_NAME_CLAIM") or "preferred_username",
        creates_users=environ.get("SCHEDWEB_OIDC_CREATE_USERS", "") == ""
        or _switch(environ, "SCHEDWEB_OIDC_CREATE_USERS"),
        links_emails=_switch(environ, "SCHEDWEB_OIDC_LINK_EMAILS"),
        groups_claim=environ.get("SCHEDWEB_OIDC_GROUPS_CLAIM", ""),
        scope=_openid_scope(environ.get("SCHEDWEB_OIDC_SCOPE") or "openid profile email"),
    )


def _openid_scope(scope: str) -> str:
    if "openid" not in scope.split():
        raise InvalidEnvironment("SCHEDWEB_OIDC_SCOPE must contain openid")
    return scope


def _smtp_url(environ: Mapping[str, str]) -> str:
    url = environ.get("SCHEDWEB_SMTP_URL", "")
    if url and not _is_url(url, ("smtp", "smtps")):
        raise InvalidEnvironment("SCHEDWEB_SMTP_URL must be smtp://host or smtps://host")
    return url


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.replace(",", " ").split() if word)


def _series(text: str) -> tuple[tuple[int, int], ...]:
    """`10s:6h 1m:3d` as ((10, 21600), (60, 259200))."""
    spans = [tuple(_span_seconds(part, text) for part in word.split(":")) for word in _words(text)]
    pairs = [(pair[0], pair[1]) for pair in spans if len(pair) == 2]
    ascending = all(
        coarse[0] > fine[0] and coarse[0] % fine[0] == 0 and coarse[1] >= fine[1]
        for fine, coarse in pairwise(pairs)
    )
    if not pairs or len(pairs) != len(spans) or not ascending:
        raise InvalidEnvironment(
            "SCHEDWEB_SERIES_RETENTION must list widths and retentions, such as "
            f"{_SERIES!r}, in which each width is a multiple of the one before and retained at "
            f"least as long, not {text!r}"
        )
    return tuple(pairs)


def _span_seconds(span: str, text: str) -> int:
    match = _SPAN.fullmatch(span)
    if match is None:
        raise InvalidEnvironment(
            f"SCHEDWEB_SERIES_RETENTION: {span!r} in {text!r} is not a number of seconds, minutes, "
            "hours or days such as 10s, 1m, 6h or 35d"
        )
    return int(match[1]) * _SECONDS[match[2]]
