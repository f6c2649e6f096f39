"""Every URL answers every method, and none with an internal error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.controlplane.clusters.lifecycle import create_cluster
from tests.stack.test_anonymous_requests import ADDRESSES

#: Those that change something come last.
METHODS = ("HEAD", "OPTIONS", "TRACE", "PROPFIND", "FOO", "GET", "PATCH", "PUT", "POST", "DELETE")
#: It says so itself when a part of the site does not run.
_UNAVAILABLE = {"/readyz": {503}}
#: A POST without a body, or without what a form reads, is an internal error there.
_KNOWN = {
    "/api/v1/clusters/lab/import",
    "/clusters/lab/new-node",
    "/clusters/lab/new-pod",
}


def _cases() -> Iterator[Any]:
    fails = pytest.mark.xfail(strict=True, reason="a POST without fields is answered 500")
    for address in ADDRESSES:
        yield pytest.param(address, marks=fails) if address in _KNOWN else address


@pytest.mark.django_db
@pytest.mark.parametrize("address", _cases())
def test_no_method_is_an_internal_error(client: Client, address: str) -> None:
    create_cluster("lab", user="tests")
    admin = User.objects.create_superuser("admin")
    client.raise_request_exception = False
    for method in METHODS:
        # some requests end the session
        client.force_login(admin)
        status = client.generic(method, address).status_code
        assert status < 500 or status in _UNAVAILABLE.get(address, ()), f"{method}: {status}"
