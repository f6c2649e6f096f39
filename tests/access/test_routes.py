"""Every route as every role: what is refused is what the table of routes says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.operations import service
from apps.cluster.access import gate, grants
from apps.cluster.access.needs import Need
from apps.cluster.access.routes import READING_POSTS, ROUTES
from apps.cluster.access.scopes import TokenScope
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.roles import Role
from apps.cluster.writes import Actor
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.people import members
from schedweb.front.streams import STREAMS
from tests.dashboard.conftest import add_pods, pod

# the loop has transactions of its own
pytestmark = pytest.mark.django_db(transaction=True)

#: role of each user in the clusters `lab` and `old`; none: not a member
PEOPLE: Mapping[str, Role | None] = {
    "stranger": None,
    "viewer": Role.VIEWER,
    "operator": Role.OPERATOR,
    "admin": Role.ADMIN,
    "root": Role.SITE_ADMIN,
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True)
class Route:
    name: str
    pattern: str


def all_routes(resolver: URLResolver, prefix: str = "") -> Iterator[Route]:
    for each in resolver.url_patterns:
        if isinstance(each, URLPattern):
            yield Route(each.name or f"without a name: {each.pattern}", f"{prefix}{each.pattern}")
        else:
            yield from all_routes(each, f"{prefix}{each.pattern}")


@pytest.fixture
def values() -> dict[str, Any]:
    """A site with a cluster, a deleted one and their members; the values of parameters."""
    for name in PEOPLE:
        User.objects.create_user(name, is_superuser=name == "root")
    operators = Group.objects.create(name="operators")
    operators.user_set.add(User.objects.get(username="operator"))
    lab, old = (create_cluster(name, user="command line", nodes=1) for name in ("lab", "old"))
    for cluster in (lab, old):
        members.add_member(cluster, user="viewer", role=Role.VIEWER, actor="root")
        # the group's role counts, because it is higher
        members.add_member(cluster, user="operator", role=Role.VIEWER, actor="root")
        members.add_member(cluster, group="operators", role=Role.OPERATOR, actor="root")
        members.add_member(cluster, user="admin", role=Role.ADMIN, actor="root")
    add_pods(lab, pod("web-0"))
    Engines().run(lab.pk)
    operation = service.start("export", "Export", actor=Actor("root"), cluster=lab)
    delete_cluster(old, user="root")
    return {
        "cluster": "lab",
        "cluster_id": old.pk,
        "id": old.pk,
        "decision": SchedulingDecision.objects.get(cluster=lab).pk,
        "operation": operation.pk,
        "past": old.pk,
        "kubernetes": "api/v1/namespaces/default/pods",
    }


def address_of(route: Route, values: Mapping[str, Any]) -> str:
    """An address of the route, about things that exist where the gate looks them up."""
    own = dict(values)
    if "decision" in route.name:
        own |= {"pk": values["decision"], "number": values["decision"]}
    elif "operation" in route.name or route.name in ("scenario", "recorded-comparison"):
        own |= {"pk": values["operation"], "number": values["operation"]}
    elif route.name == "forget-cluster":
        own["number"] = values["past"]
    elif route.name == "kubernetes":
        own["path"] = values["kubernetes"]
    if "clusters/(?P<name>" in route.pattern:
        own["name"] = "lab"
    own["uid"] = "00000000-0000-0000-0000-000000000007"

    def fill(found: re.Match[str]) -> str:
        return str(own.get(found[1] or found[2], 77))

    text = _PARAMETER.sub(fill, route.pattern)
    return "/" + re.sub(r"[\^$]|\\Z|\[\\s\\S\]\*", "", text)


def is_expected(need: Need, name: str) -> bool:
    """Whether the table lets this user pass."""
    role = PEOPLE.get(name)
    match need:
        case Need.NOTHING:
            return True
        case Need.USER | Need.ACCOUNT | Need.CREATOR:
            return name in PEOPLE
        case Need.SITE_ADMIN:
            return role == Role.SITE_ADMIN
        case _:
            return role is not None and role >= (need.role or Role.VIEWER)


def passes(client: Client, method: str, address: str) -> bool:
    """Whether a request is not refused because of its user; what it writes is rolled back."""
    session = client.cookies.copy()
    with transaction.atomic():
        answer = client.generic(method, address, *_body(address))
        transaction.set_rollback(True)
    client.cookies = session
    grants.forget()
    if answer.status_code == 404:
        # as if it did not exist; everything else that the address names does not exist
        hidden = r'(?<!of )(?i:clusters|operations|decisions) (&quot;|\\?")(?!77\b)[^ ]+ not found'
        hidden += r"|There is no (deleted )?(cluster|operation|decision) “(?!77”)"
        return re.search(hidden, answer.content.decode()) is None
    sent_to_login = answer.status_code == 302 and answer["Location"].startswith("/login?next")
    return answer.status_code not in (401, 403) and not sent_to_login


def _body(address: str) -> tuple[bytes, str]:
    """The body and its type: empty JSON for an API, a form without known fields for a page."""
    if address.startswith(("/api/", "/k8s/")):
        return b"{}", "application/json"
    return b"unknown=1", "application/x-www-form-urlencoded"


def opens(user: User, route: str, method: str, names: Mapping[str, Any]) -> bool:
    """Whether the gate lets a request pass: the same without the view, which takes its time."""
    try:
        gate.check(user, route, method, names)
    except ApiError:
        return False
    return True


def test_every_route_lets_those_pass_whom_the_table_names(values: dict[str, Any]) -> None:
    routes = {route.name: route for route in all_routes(get_resolver())}
    streams = {f"stream:{stream.handler}" for stream in STREAMS}
    assert {*routes, *streams} == {*ROUTES}
    wrong: list[str] = []
    checked = 0
    clients = {name: Client() for name in ("", *PEOPLE)}
    users = {user.username: user for user in User.objects.all()}
    for name, user in users.items():
        clients[name].force_login(user)
    for route in routes.values():
        address = address_of(route, values)
        for method, need in ROUTES[route.name].items():
            if route.name == "kubernetes":
                need = Need.VIEWER if method == "GET" else Need.OPERATOR
            opened = False
            for name, client in clients.items():
                expected = is_expected(need, name)
                if opened and expected and route.name != "kubernetes":
                    passed = opens(users[name], route.name, method, resolve(address).kwargs)
                else:
                    passed = passes(client, method, address)
                opened, checked = opened or passed, checked + 1
                if passed != expected:
                    wrong.append(f"{name or 'nobody'}: {method} {address} ({route.name})")
    assert wrong == []
    assert checked > 1000


def test_streams_and_limited_tokens_follow_the_same_table(values: dict[str, Any]) -> None:
    routes = {route.name: address_of(route, values) for route in all_routes(get_resolver())}
    root = User.objects.get(username="root")
    reading, elsewhere = User.objects.get(username="root"), User.objects.get(username="root")
    reading.token_scope = TokenScope(read_only=True)  # type: ignore[attr-defined]
    elsewhere.token_scope = TokenScope(frozenset({"other"}))  # type: ignore[attr-defined]
    for name, methods in ROUTES.items():
        names = {"cluster": "lab"} if name not in routes else resolve(routes[name]).kwargs
        for method, need in methods.items():
            if need in (Need.NOTHING, Need.KUBERNETES):
                continue
            assert opens(root, name, method, names), name
            reads = method == "GET" or name in READING_POSTS
            assert opens(reading, name, method, names) is reads, name
            assert opens(elsewhere, name, method, names) is (need == Need.USER and reads), name
    for name, role in PEOPLE.items():
        if role is None:
            with pytest.raises(NotFound):
                gate.check(
                    User.objects.get(username=name),
                    "stream:apps.dashboard.streams.live",
                    "GET",
                    {"cluster": "lab"},
                )
