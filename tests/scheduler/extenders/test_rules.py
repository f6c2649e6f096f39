"""Extenders at addresses, and with files, that the site does not allow."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from apps.scheduler.decision import Decision
from apps.scheduler.extenders.http import ExtenderConfigError
from apps.scheduler.outgoing.rules import DestinationRefused, OutgoingRules
from apps.scheduler.testing.builders import make_node, make_pod
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.extenders.running import RunningExtender

SHARED = OutgoingRules(internal=False, folders=())


def decide(new_scheduler: NewScheduler, rules: OutgoingRules, **entry: Any) -> Decision:
    extender = {"filterVerb": "filter", "nodeCacheCapable": True, **entry}
    scheduler = new_scheduler({"extenders": [extender]}, outgoing=rules)
    for name in "ab":
        scheduler.handle("Node", None, make_node(name).obj())
    scheduler.handle("Pod", None, make_pod("p").obj())
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


def test_a_shared_site_calls_no_extender_on_its_machine(
    new_scheduler: NewScheduler, extender: RunningExtender
) -> None:
    extender.answers("filter", {"NodeNames": ["b"]})
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        url = f"http://{host}:{extender.port}/scheduler"
        refused = decide(new_scheduler, SHARED, urlPrefix=url)
        assert "this site does not send requests to this address" in refused.message, host
    assert extender.requests() == []
    allowed = OutgoingRules((ip_network("127.0.0.0/8"),), internal=False)
    assert decide(new_scheduler, allowed, urlPrefix=extender.url).node == "b"
    assert len(extender.requests()) == 1


@pytest.mark.parametrize(
    ("address", "personal", "shared"),
    [
        ("127.0.0.1", True, False),
        ("::1", True, False),
        ("0.0.0.0", True, False),
        ("::ffff:127.0.0.1", True, False),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("fe80::1", False, False),
        ("fd00:ec2::254", False, False),
        ("100.100.100.200", False, False),
        ("224.0.0.1", False, False),
        ("10.1.2.3", True, False),
        ("192.168.1.2", True, False),
        ("fd00::1", True, False),
        ("93.184.216.34", True, True),
        ("::ffff:93.184.216.34", True, True),
        ("2606:4700::1", True, True),
    ],
)
def test_the_default_rules(address: str, personal: bool, shared: bool) -> None:
    assert OutgoingRules().allows(ip_address(address)) is personal
    assert SHARED.allows(ip_address(address)) is shared


@pytest.mark.parametrize(
    "address",
    [
        # metadata services: Azure, Oracle, AWS, Alibaba, Google
        *("168.63.129.16", "192.0.0.192", "169.254.170.2", "100.100.100.200", "fd20:ce::254"),
        # to IPv4 by a gateway or a tunnel, wherever it ends
        *("64:ff9b::7f00:1", "64:ff9b::a83f:8110", "64:ff9b::5db8:d822"),
        *("64:ff9b:1::7f00:1", "64:ff9b:1:ffff::a9fe:a9fe"),
        *("2001:0:4136:e378:8000:63bf:3fff:fdd2", "2002:7f00:1::", "2002:5db8:d822::"),
        *("::127.0.0.1", "::93.184.216.34", "::ffff:168.63.129.16", "::ffff:0:7f00:1"),
        # shared, reserved, benchmarks, documentation, relays, protocols
        *("100.64.0.1", "240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "192.88.99.1"),
        *("192.0.0.8", "0.1.2.3", "2001:2::1", "2001:10::1", "2001:db8::1", "3fff::1", "100::1"),
        # not unicast, or of one site
        *("239.1.1.1", "232.0.0.1", "ff02::1", "ff0e::1", "fec0::1", "4000::1", "5f00::1"),
    ],
)
def test_addresses_that_are_not_of_one_machine_in_the_internet_are_refused(address: str) -> None:
    assert not OutgoingRules().allows(ip_address(address))
    assert not SHARED.allows(ip_address(address))
    assert not OutgoingRules((), public=True).allows(ip_address(address))


def test_a_network_allows_no_metadata_service_and_no_internal_address_behind_a_gateway() -> None:
    wide = OutgoingRules((ip_network("0.0.0.0/0"), ip_network("::/0")))
    for address in ("169.254.169.254", "168.63.129.16", "::ffff:168.63.129.16", "fd00:ec2::254"):
        assert not wide.allows(ip_address(address))
        alone = OutgoingRules((ip_network(address),))
        assert alone.allows(ip_address(address)) is not address.startswith("::ffff")
    translated = OutgoingRules((ip_network("64:ff9b::/96"),), public=True)
    assert translated.allows(ip_address("64:ff9b::5db8:d822"))
    assert translated.allows(ip_address("93.184.216.34"))
    for address in ("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1", "10.0.0.1"):
        assert not translated.allows(ip_address(address))
    tunnel = OutgoingRules((ip_network("2002::/16"),))
    assert not tunnel.allows(ip_address("2002:7f00:1::"))


def test_a_name_is_looked_up_once_and_the_address_that_was_checked_is_called(
    new_scheduler: NewScheduler, extender: RunningExtender, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name server of an attacker answers with an allowed address, then with another one."""
    answers = iter(["127.0.0.1", "127.0.0.2", "127.0.0.2"])
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def answer(host: Any, *arguments: Any, **options: Any) -> Any:
        if host == "changing.example":
            looked_up.append(host)
            host = next(answers)
        return real(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    extender.answers("filter", {"NodeNames": ["b"]})
    allowed = OutgoingRules((ip_network("127.0.0.1/32"),))
    url = f"http://changing.example:{extender.port}/scheduler"
    assert decide(new_scheduler, allowed, urlPrefix=url).node == "b"
    assert looked_up == ["changing.example"]


def test_networks_replace_the_default_rules() -> None:
    rules = OutgoingRules((ip_network("10.0.0.0/8"), ip_network("169.254.7.0/24")))
    allowed = ["10.1.2.3", "::ffff:10.1.2.3", "169.254.7.1"]
    refused = ["127.0.0.1", "93.184.216.34", "::1", "169.254.169.254"]
    assert all(rules.allows(ip_address(each)) for each in allowed)
    assert not any(rules.allows(ip_address(each)) for each in refused)
    with pytest.raises(DestinationRefused, match="127.0.0.1: this site does not send requests"):
        rules.resolve("127.0.0.1", 80)
    with pytest.raises(socket.gaierror):
        rules.resolve("no-such-host.invalid", 80)


@pytest.mark.parametrize("field", ["caFile", "certFile", "keyFile"])
def test_a_refused_file_is_refused_alike_whether_it_exists_or_not(
    new_scheduler: NewScheduler, tmp_path: Path, field: str
) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (tmp_path / "secret").write_text("a secret")
    (allowed / "link").symlink_to(tmp_path / "secret")
    rules = OutgoingRules(folders=(allowed,))
    messages = set()
    for name in (
        tmp_path / "secret",
        tmp_path / "missing",
        allowed / "link",
        allowed / ".." / "secret",
    ):
        config = {"urlPrefix": "https://x.example", "tlsConfig": {field: str(name)}}
        if field != "caFile":
            config["tlsConfig"] = {"certFile": str(name), "keyFile": str(name)}
        with pytest.raises(ExtenderConfigError) as refused:
            decide(new_scheduler, rules, **config)
        messages.add(str(refused.value).replace(str(name), "FILE"))
    (message,) = messages
    assert message.startswith("tlsConfig.") and "SCHEDWEB_TLS_FOLDERS" in message


def test_a_file_in_an_allowed_folder_is_read(new_scheduler: NewScheduler, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("not a certificate")
    config = {
        "urlPrefix": "https://x.example",
        "tlsConfig": {"caFile": str(tmp_path / "ca.crt")},
    }
    with pytest.raises(ExtenderConfigError, match="tlsConfig: "):
        decide(new_scheduler, OutgoingRules(folders=(tmp_path,)), **config)
