"""Names in a pod: DNS configuration and host aliases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.addresses import validate_address
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

Body = Mapping[str, Any]

_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCH_CHARACTERS: Final = 2048


def validate_dns(spec: Body, path: str) -> Causes:
    """dnsConfig of a pod, which dnsPolicy None requires."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            problem = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", problem)
            return
    if config is not None:
        yield from _servers(config.get("nameservers") or (), f"{path}.nameservers")
        yield from _searches(config.get("searches") or (), f"{path}.searches")
        for index, option in enumerate(config.get("options") or ()):
            if not option.get("name"):
                yield required(f"{path}.options[{index}]", "must not be empty")


def _servers(servers: Sequence[str], path: str) -> Causes:
    if len(servers) > _MAX_SERVERS:
        yield invalid(path, servers, f"must not have more than {_MAX_SERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from validate_address(server, f"{path}[{index}]")


def _searches(searches: Sequence[str], path: str) -> Causes:
    if len(searches) > _MAX_SEARCHES:
        yield invalid(path, searches, f"must not have more than {_MAX_SEARCHES} search paths")
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        limit = f"{_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        yield invalid(path, searches, f"must not have more than {limit}")
    for index, search in enumerate(searches):
        domain = search.removesuffix(".")
        if search != ".":
            yield from all_invalid(f"{path}[{index}]", domain, names.search_domain(domain))


def validate_host_aliases(aliases: Sequence[Body], path: str) -> Causes:
    """Lines for /etc/hosts."""
    for index, alias in enumerate(aliases):
        yield from validate_address(alias.get("ip", ""), f"{path}[{index}].ip")
        for position, name in enumerate(alias.get("hostnames") or ()):
            place = f"{path}[{index}].hostnames[{position}]"
            yield from all_invalid(place, name, names.dns_subdomain(name))
