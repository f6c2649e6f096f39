"""Extenders behind https."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.scheduler.decision import Decision
from apps.scheduler.extenders.http import ExtenderConfigError
from apps.scheduler.testing.builders import make_node, make_pod
from schedweb import tls
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.extenders.running import RunningExtender, running_extender


@pytest.fixture
def files(tmp_path: Path) -> tls.Files:
    return tls.ensure(tmp_path, ["extender.example"])


@pytest.fixture
def extender(files: tls.Files) -> Iterator[RunningExtender]:
    context = ssl.create_default_context(cafile=str(files.authority))
    context.check_hostname = False
    arguments = str(files.server), str(files.server_key)
    with running_extender(*arguments, context=context) as running:
        running.answers("filter", {"NodeNames": ["b"]})
        yield running


def decide(new_scheduler: NewScheduler, extender: RunningExtender, **entry: Any) -> Decision:
    wanted = {"urlPrefix": extender.url, "filterVerb": "filter", "nodeCacheCapable": True}
    scheduler = new_scheduler({"extenders": [{**wanted, **entry}]})
    for name in "ab":
        scheduler.handle("Node", None, make_node(name).obj())
    scheduler.handle("Pod", None, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


def test_a_certificate_is_checked_against_the_given_authority_and_name(
    new_scheduler: NewScheduler, extender: RunningExtender, files: tls.Files
) -> None:
    trusted = {"caFile": str(files.authority), "serverName": "extender.example"}
    assert decide(new_scheduler, extender, enableHTTPS=True, tlsConfig=trusted).node == "b"
    data = base64.b64encode(files.authority.read_bytes()).decode()
    trusted = {"caData": data, "serverName": "extender.example"}
    assert decide(new_scheduler, extender, enableHTTPS=True, tlsConfig=trusted).node == "b"


def test_another_name_is_not_believed(
    new_scheduler: NewScheduler, extender: RunningExtender, files: tls.Files
) -> None:
    decision = decide(
        new_scheduler, extender, enableHTTPS=True, tlsConfig={"caFile": str(files.authority)}
    )
    assert decision.message.startswith(f'Post "{extender.url}/filter": tls: ')


def test_an_unknown_authority_is_not_believed(
    new_scheduler: NewScheduler, extender: RunningExtender
) -> None:
    assert "tls: " in decide(new_scheduler, extender).message


def test_https_alone_checks_nothing(new_scheduler: NewScheduler, extender: RunningExtender) -> None:
    assert decide(new_scheduler, extender, enableHTTPS=True).node == "b"
    assert decide(new_scheduler, extender, tlsConfig={"insecure": True}).node == "b"


def test_settings_that_contradict_each_other_are_refused(
    new_scheduler: NewScheduler, extender: RunningExtender, files: tls.Files
) -> None:
    both = {"insecure": True, "caFile": str(files.authority)}
    with pytest.raises(ExtenderConfigError, match="with the insecure flag is not allowed"):
        decide(new_scheduler, extender, tlsConfig=both)
    missing = "tlsConfig.caFile: cannot read /no/such/file: No such file or directory"
    with pytest.raises(ExtenderConfigError, match=missing):
        decide(new_scheduler, extender, tlsConfig={"caFile": "/no/such/file"})
