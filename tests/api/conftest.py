"""Fixtures of the API tests: a cluster, a user with a key, and their client."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.people.tokens import create_token


@pytest.fixture
def user(db: None) -> User:
    return User.objects.create_superuser("alice", password="wonderland")


@pytest.fixture
def key(user: User) -> str:
    return create_token(user, "test").key


@pytest.fixture
def cluster(user: User) -> Cluster:
    return create_cluster("c1", user=user.username)


class Kube:
    """A client of one cluster's Kubernetes API."""

    def __init__(self, key: str, cluster: str) -> None:
        self.client = Client(raise_request_exception=True)
        self.headers = {"authorization": f"Bearer {key}"} if key else {}
        self.root = f"/k8s/{cluster}"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Any:
        return self.client.generic(
            method,
            self.root + path,
            data=encode(body),
            content_type=content_type,
            headers={**self.headers, **(headers or {})},
        )

    def get(self, path: str, **options: Any) -> Any:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Any:
        return self.request("POST", path, body, **options)

    def put(self, path: str, body: Any, **options: Any) -> Any:
        return self.request("PUT", path, body, **options)

    def patch(self, path: str, body: Any, kind: str = "merge-patch", **options: Any) -> Any:
        content_type = f"application/{kind}+json"
        return self.request("PATCH", path, body, content_type=content_type, **options)

    def delete(self, path: str, body: Any = None, **options: Any) -> Any:
        return self.request("DELETE", path, body, **options)


def encode(body: Any) -> bytes:
    """Request bytes: text as it is, anything else as JSON."""
    import msgspec

    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


@pytest.fixture
def kube(key: str, cluster: Cluster) -> Kube:
    return Kube(key, cluster.name)


@pytest.fixture
def anonymous(cluster: Cluster) -> Kube:
    """A client without a key."""
    return Kube("", cluster.name)
