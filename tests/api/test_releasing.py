"""What a request used is freed when it has been answered, not at the next garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.urls import URLPattern, get_resolver
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.api.releasing import ReleasingView


@contextmanager
def collected_garbage() -> Iterator[list[Any]]:
    """The objects that only garbage collection could free, after the block."""
    found: list[Any] = []
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.extend(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize(
    "path",
    [
        "/k8s/c1/api/v1/pods",
        "/k8s/c1/api/v1/namespaces/default/pods/none",
        "/k8s/none/api/v1/pods",
        "/k8s/c1/apis",
        "/api/v1/clusters/none",
        "/api/v1/clusters/c1/queue",
        "/api/v1/nothing",
        "/metrics",
    ],
)
def test_an_answer_is_freed_with_its_request(kube: Any, path: str) -> None:
    kube.client.get(path, headers=kube.headers)  # fills caches
    with collected_garbage() as garbage:
        kube.client.get(path, headers=kube.headers)
    # the response itself is not among the types, because the test client links it to its request
    assert [each for each in garbage if isinstance(each, Request)] == []


def test_every_view_of_the_framework_releases_its_answers() -> None:
    def views(patterns: Any) -> Iterator[type]:
        for each in patterns:
            if isinstance(each, URLPattern):
                yield getattr(each.callback, "cls", object)
            else:
                yield from views(each.url_patterns)

    ours = {view for view in views(get_resolver().url_patterns) if issubclass(view, APIView)}
    assert {view.__name__ for view in ours if not issubclass(view, ReleasingView)} <= {
        # the root of the router and the page of the documentation, which are small
        "APIRootView",
        "DocumentationView",
    }
