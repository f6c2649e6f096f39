"""Tokens that reach one cluster, on every route, with what belongs to other clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import service
from apps.api.control.documentation import examples
from apps.cluster.access.needs import Need
from apps.cluster.access.routes import READING_POSTS, ROUTES
from apps.cluster.writes import Actor
from apps.people.tokens import create_token
from tests.access.test_routes import Route, address_of, all_routes
from tests.api.control.furnishing import furnish
from tests.api.control.test_examples import send

# the loop has transactions of its own
pytestmark = pytest.mark.django_db(transaction=True)

#: What only the other clusters have: their names, and those of their objects.
_FOREIGN = re.compile(r"\b(?:bare|draining|web-0|packing)\b|[\"',]lab[\"',]|cluster lab\b")
#: They describe the site, with examples.
_DESCRIBING = ("api-schema", "api-docs")
#: What numbers in the addresses of routes are, by parts of the names of the routes.
_NUMBERS = {
    "decision": "scheduled",
    "refused": "scheduled",
    "preview": "preview",
    "replay": "replay",
    "webhook": "webhook",
    "member": "member",
    "view": "view",
}


class Sender:
    """A client with a token, or a browser that is signed in; what its requests write is undone."""

    def __init__(self, user: User, *, token: str = "", clusters: list[str] | None = None) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {}
        if token:
            key = create_token(user, token, clusters=clusters).key
            self.headers = {"authorization": f"Bearer {key}"}
        else:
            self.client.force_login(user)

    def send(self, method: str, address: str) -> HttpResponse:
        kind = "application/json"
        with transaction.atomic():
            answer = self.client.generic(method, address, b"{}", kind, headers=self.headers)
            if answer.streaming:
                answer = HttpResponse(answer.getvalue(), status=answer.status_code)
            transaction.set_rollback(True)
        return answer  # type: ignore[return-value]


def limit(user: User) -> Sender:
    """A client whose token reaches only the cluster `mine`."""
    return Sender(user, token="mine", clusters=["mine"])


@pytest.fixture(params=["member", "site admin"])
def owner(request: pytest.FixtureRequest) -> User:
    """Who owns every cluster and has started every operation."""
    return User.objects.create_user("alice", is_superuser=request.param == "site admin")


@pytest.fixture
def values(owner: User) -> dict[str, Any]:
    found = furnish(owner)
    create_cluster("mine", user=owner.username)
    return found


def test_a_limited_token_reaches_nothing_of_other_clusters(
    owner: User, values: dict[str, Any]
) -> None:
    about = {
        **{"cluster": "lab", "cluster_id": values["past_cluster"], "id": values["past_cluster"]},
        **{"decision": values["scheduled"], "operation": values["export"]},
        **{"past": values["past_cluster"], "kubernetes": "api/v1/namespaces/default/pods"},
    }
    limited = limit(owner)
    wrong, checked = [], 0
    for route in all_routes(get_resolver()):
        address = address_of(route, about)
        for method, need in ROUTES[route.name].items():
            if need == Need.NOTHING or route.name in _DESCRIBING:
                continue
            answer = limited.send(method, address)
            checked += 1
            if not _is_refused(answer) and not _tells_nothing(route, method, need, answer):
                wrong.append(f"{method} {address} ({route.name}): {answer.status_code}")
    assert wrong == []
    assert checked > 300


def _is_refused(answer: HttpResponse) -> bool:
    # pages take no tokens
    sent_to_login = answer.status_code == 302 and answer["Location"].startswith("/login?next")
    return answer.status_code in (401, 403, 404, 405) or sent_to_login


def _tells_nothing(route: Route, method: str, need: Need, answer: HttpResponse) -> bool:
    """Whether a route about several clusters has left the others out."""
    reads = method == "GET" or route.name in READING_POSTS
    allowed = need == Need.USER and reads and answer.status_code < 500
    return allowed and _FOREIGN.search(answer.content.decode()) is None


def test_no_documented_call_shows_a_limited_token_another_cluster(
    owner: User, values: dict[str, Any]
) -> None:
    """The examples of the API's documentation name what exists, in addresses and parameters."""
    limited = limit(owner)
    shown = []
    for name, calls in examples.load_examples().items():
        if name.endswith(("/schema", "/bundles")):
            # they describe the site, or a file that was sent
            continue
        for call in calls:
            answer = send(limited, name, call, values)  # type: ignore[arg-type]
            text = answer.content.decode(errors="replace")
            if answer.status_code < 400 and _FOREIGN.search(text):
                shown.append(f"{name}: {call['title']}")
    assert shown == []


def test_an_address_of_one_cluster_leads_to_nothing_of_another(
    owner: User, values: dict[str, Any]
) -> None:
    limited, browser = limit(owner), Sender(owner)
    wrong, checked = [], 0
    for route, address in _foreign_addresses(values):
        client = limited if address.startswith("/api/") else browser
        for method in ROUTES[route.name]:
            answer = client.send(method, address)
            checked += 1
            if answer.status_code not in (403, 404, 405):
                wrong.append(f"{method} {address} ({route.name}): {answer.status_code}")
    assert wrong == []
    assert checked > 40


def _foreign_addresses(values: dict[str, Any]) -> Iterator[tuple[Route, str]]:
    """The routes about one thing of a cluster, with the cluster `mine` and a thing of `lab`."""
    parameter = re.compile(r"<(?:\w+:)?(?:number|view)>|\(\?P<(?:number|pk)>[^)]*\)")
    for route in all_routes(get_resolver()):
        found = [value for part, value in _NUMBERS.items() if part in route.name]
        if "cluster" not in route.pattern or not found or not parameter.search(route.pattern):
            continue
        numbered = replace(route, pattern=parameter.sub(str(values[found[0]]), route.pattern))
        yield route, address_of(numbered, {"cluster": "mine", "decision": 0, "operation": 0})


def test_operations_without_a_cluster_are_out_of_reach_of_a_limited_token(owner: User) -> None:
    create_cluster("mine", user=owner.username)
    limited, unlimited = limit(owner), Sender(owner, token="all")
    operation = service.start("scenario", "Run scenario secret", actor=Actor(owner.username))
    place = f"/api/v1/operations/{operation.pk}"
    requests = [("GET", place), ("GET", f"{place}/output"), ("POST", f"{place}/cancel")]
    for method, address in requests:
        answer = limited.send(method, address)
        assert (
            answer.status_code == 404
            and f'\\"{operation.pk}\\" not found' in answer.content.decode()
        )
    for address in ("/api/v1/operations", "/api/v1/scenarios"):
        assert b"secret" not in limited.send("GET", address).content
        assert b"secret" in unlimited.send("GET", address).content
    assert [unlimited.send(*each).status_code for each in requests] == [200, 404, 200]


def test_a_limited_token_shows_and_creates_no_other_tokens(owner: User) -> None:
    create_cluster("mine", user=owner.username)
    create_cluster("other", user=owner.username)
    foreign = create_token(owner, "ci", clusters=["other"]).token.pk
    limited = limit(owner)
    for method, address in (
        *(("GET", "/tokens"), ("POST", "/tokens"), ("GET", f"/tokens/{foreign}")),
        *(("DELETE", f"/tokens/{foreign}"), ("GET", "/sessions"), ("DELETE", "/sessions")),
    ):
        answer = limited.send(method, f"/api/v1{address}")
        assert answer.status_code == 403, (method, address)
        assert b"the token is limited to some clusters" in answer.content
