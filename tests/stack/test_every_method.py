"""Every URL answers every method, and none with an internal error."""

from __future__ import annotations

from http.cookies import SimpleCookie
from itertools import chain, cycle, product

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from tests.stack.test_anonymous_requests import ADDRESSES

METHODS = ("OPTIONS", "GET", "PATCH", "PUT", "POST", "DELETE")
#: No view has these itself, so they take turns: HEAD is answered by what answers GET.
UNUSUAL = ("HEAD", "TRACE", "PROPFIND", "FOO")
#: They say so themselves when a part of the site, or its https address, is missing.
_UNAVAILABLE = {"/readyz": {503}, "/clusters/lab/kubeconfig": {503}}


@pytest.mark.django_db
def test_no_method_is_an_internal_error(client: Client) -> None:
    create_cluster("lab", user="tests")
    client.force_login(User.objects.create_superuser("admin"))
    session = client.cookies.output(header="")
    client.raise_request_exception = False
    wrong = []
    unusual = zip(ADDRESSES, cycle(UNUSUAL), strict=False)
    for address, method in chain(product(ADDRESSES, METHODS), unusual):
        # each request finds everything as it was, also the session that another one has ended
        with transaction.atomic():
            client.cookies = SimpleCookie(session)
            status = client.generic(method, address).status_code
            transaction.set_rollback(True)
        if status >= 500 and status not in _UNAVAILABLE.get(address, ()):
            wrong.append(f"{method} {address}: {status}")
    assert wrong == []
