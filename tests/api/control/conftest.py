"""Clients of the control-plane API, with and without a token."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client


class Api:
    """A client of /api/v1."""

    def __init__(self, key: str = "") -> None:
        self.client = Client()
        self.headers = {"authorization": f"Bearer {key}"} if key else {}

    def get(self, path: str) -> Any:
        return self.client.get(f"/api/v1{path}", headers=self.headers)

    def post(self, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        return self.client.post(
            f"/api/v1{path}", body, content_type=content_type, headers=self.headers
        )

    def patch(self, path: str, body: Any) -> Any:
        return self.client.patch(
            f"/api/v1{path}", body, content_type="application/json", headers=self.headers
        )

    def put(self, path: str, body: Any) -> Any:
        return self.client.put(
            f"/api/v1{path}", body, content_type="application/json", headers=self.headers
        )

    def delete(self, path: str) -> Any:
        return self.client.delete(f"/api/v1{path}", headers=self.headers)


@pytest.fixture
def api(key: str) -> Api:
    return Api(key)


@pytest.fixture
def anonymous(db: None) -> Api:
    return Api()
