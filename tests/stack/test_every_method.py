"""Every URL answers every method, and none with an internal error."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from tests.stack.test_anonymous_requests import ADDRESSES

#: Those that change something come last.
METHODS = ("HEAD", "OPTIONS", "TRACE", "PROPFIND", "FOO", "GET", "PATCH", "PUT", "POST", "DELETE")
#: They say so themselves when a part of the site, or its https address, is missing.
_UNAVAILABLE = {"/readyz": {503}, "/clusters/lab/kubeconfig": {503}}


@pytest.mark.django_db
def test_no_method_is_an_internal_error(client: Client) -> None:
    create_cluster("lab", user="tests")
    admin = User.objects.create_superuser("admin")
    client.raise_request_exception = False
    wrong = []
    for address in ADDRESSES:
        with transaction.atomic():
            for method in METHODS:
                # some requests end the session
                client.force_login(admin)
                status = client.generic(method, address).status_code
                if status >= 500 and status not in _UNAVAILABLE.get(address, ()):
                    wrong.append(f"{method} {address}: {status}")
            # the next address finds everything as it was
            transaction.set_rollback(True)
    assert wrong == []
