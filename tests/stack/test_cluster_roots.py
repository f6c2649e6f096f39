"""A cluster's API at the root of a name of its own: by TLS server name, and by Host."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedweb.front.cluster_roots import cluster_of, site_names
from tests.stack.test_front import Running


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path)
    yield running
    running.stop()


def asked(site: Running, path: str, host: str) -> tuple[int, Any]:
    """Status and body of a request for a host."""
    web = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    web.request("GET", path, headers={"Host": host})
    response = web.getresponse()
    body = json.loads(response.read())
    web.close()
    return response.status, body


def asked_by_name(site: Running, path: str, name: str) -> Any:
    """The request as the application gets it, if the client asks for this TLS server name."""
    trust = ssl.create_default_context(cafile=str(site.certificates.authority))
    with (
        socket.create_connection(("127.0.0.1", site.tls_port), 10) as plain,
        trust.wrap_socket(plain, server_hostname=name) as secure,
    ):
        secure.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        response = http.client.HTTPResponse(secure)
        response.begin()
        return json.loads(response.read())


def test_a_tls_server_name_selects_the_cluster_and_gets_a_certificate_of_its_own(
    site: Running,
) -> None:
    for cluster in ("demo", "other", "demo"):
        seen = asked_by_name(site, "/apis?x=1", f"{cluster}.localhost")
        assert (seen["PATH_INFO"], seen["QUERY_STRING"]) == (f"/k8s/{cluster}/apis", "x=1")
    # paths that responses name already have the cluster's path
    assert asked_by_name(site, "/k8s/demo/openapi", "demo.localhost")["PATH_INFO"] == (
        "/k8s/demo/openapi"
    )
    assert asked_by_name(site, "/clusters/demo", "localhost")["PATH_INFO"] == "/clusters/demo"
    for strange in ("a.b.localhost", "demo.example.org"):
        with pytest.raises(ssl.SSLCertVerificationError):
            asked_by_name(site, "/apis", strange)


def test_a_host_selects_the_cluster(site: Running) -> None:
    status, seen = asked(site, "/version", f"demo.localhost:{site.port}")
    assert (status, seen["PATH_INFO"]) == (200, "/k8s/demo/version")
    assert seen["HTTP_HOST"] == f"localhost:{site.port}"
    # nothing else of the site is served there
    assert asked(site, "/login", "DEMO.localhost")[1]["PATH_INFO"] == "/k8s/demo/login"


@pytest.mark.parametrize("path", ["/apis", "/api/v1/nodes", "/version", "/k8s/demo/api", "/api"])
def test_a_strange_host_gets_a_status_for_paths_of_the_api(site: Running, path: str) -> None:
    status, body = asked(site, path, "strange.example.org")
    assert (status, body["kind"], body["reason"]) == (400, "Status", "BadRequest")
    assert "strange.example.org" in body["message"]


@pytest.mark.parametrize("path", ["/apis", "/openapi/v3", "/version", "/api", "/apis/apps/v1"])
def test_the_root_of_the_site_names_the_places_of_the_api(site: Running, path: str) -> None:
    status, body = asked(site, path, "localhost")
    assert (status, body["kind"], body["reason"]) == (404, "Status", "NotFound")
    assert "/k8s/{cluster}" in body["message"]
    # these are the site's own
    for own in ("/api/v1/clusters", "/k8s/demo/apis", "/readyz"):
        assert asked(site, own, "localhost")[1]["PATH_INFO"] == own


def test_names_that_are_the_sites_own_name_no_cluster() -> None:
    sites = site_names(["localhost", "127.0.0.1", "[::1]", "k.example", "www.k.example", "*"])
    assert sites == ("localhost", "k.example", "www.k.example")
    assert cluster_of("demo.k.example", sites) == ("demo", "k.example")
    for name in ("www.k.example", "localhost", "", "a_b.localhost", "x.example"):
        assert cluster_of(name, sites) is None
