"""Log lines as text and as JSON."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from apps.cluster.context import request_context
from schedweb.logs import (
    LARGEST_DETAIL,
    LARGEST_MESSAGE,
    JsonFormatter,
    PasswordLinkFilter,
    RequestIdFilter,
    TextFormatter,
)
from schedweb.service import LARGEST_LOG, ServiceProcess
from tests.stack.running_site import wait_until


def record(message: str = "Bound the pod", **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("kube-scheduler", logging.INFO, "", 0, message, (), None)
    for name, value in extra.items():
        setattr(made, name, value)
    RequestIdFilter().filter(made)
    return made


def test_a_text_line_ends_with_its_fields() -> None:
    line = TextFormatter().format(record(request_id="r-1", fields={"pod": 'a"b\nc', "score": 7}))
    assert line.endswith(' INFO kube-scheduler [r-1] Bound the pod pod="a\\"b\\nc" score=7')


def test_a_json_line_is_one_object() -> None:
    told = json.loads(JsonFormatter().format(record(request_id="r-1", fields={"pod": "a\nb"})))
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "INFO",
        "logger": "kube-scheduler",
        "message": "Bound the pod",
        "request_id": "r-1",
        "pod": "a\nb",
    }


def test_a_traceback_stays_on_its_line() -> None:
    failed = record()
    try:
        raise ValueError("broken")
    except ValueError:
        failed.exc_info = sys.exc_info()
    line = JsonFormatter().format(failed)
    assert "\n" not in line
    assert "ValueError: broken" in json.loads(line)["traceback"]


def test_a_record_has_the_current_request_id_unless_it_has_its_own() -> None:
    with request_context("at-work"):
        assert vars(record())["request_id"] == "at-work"
        assert vars(record(request_id="older"))["request_id"] == "older"
    assert vars(record())["request_id"] == "-"


def test_the_secret_of_a_password_link_is_left_out() -> None:
    made = logging.LogRecord(
        *("django.request", logging.WARNING, "", 0, "Method Not Allowed (%s): %s"),
        ("HEAD", "/set-password/Mg/d1x-secret"),
        None,
    )
    RequestIdFilter().filter(made)
    PasswordLinkFilter().filter(made)
    line = TextFormatter().format(made)
    assert line.endswith("Method Not Allowed (HEAD): /set-password/…")


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_no_line_is_longer_than_its_limits(formatter: logging.Formatter) -> None:
    failed = record("Not Found: /" + "x" * 60_000, fields={"path": "y" * 60_000})
    try:
        raise ValueError("z" * 60_000)
    except ValueError:
        failed.exc_info = sys.exc_info()
    line = formatter.format(failed)
    assert len(line) < LARGEST_MESSAGE + 2 * LARGEST_DETAIL + 1000
    assert "Not Found: /xxx" in line and "56012 characters" in line


def test_a_message_cannot_begin_another_line() -> None:
    line = TextFormatter().format(
        record("no host 'a\r\n2026 INFO forged \x1b[31m'", request_id="r")
    )
    assert line.endswith(r"no host 'a\r\n2026 INFO forged \x1b[31m'")


@pytest.mark.parametrize(
    ("path", "host"), [("/" + "x" * 60_000, "localhost"), ("/login", "h" * 33_000)]
)
@pytest.mark.django_db
def test_what_strangers_send_does_not_fill_the_log(
    client: Client, caplog: pytest.LogCaptureFixture, path: str, host: str
) -> None:
    client.get(path, headers={"Host": host})
    client.post(path, headers={"Host": host})
    assert caplog.records
    for each in caplog.records:
        assert len(TextFormatter().format(each)) < LARGEST_MESSAGE + LARGEST_DETAIL + 1000


def test_a_log_is_rotated_while_its_processes_write(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    before = tmp_path / "web.log.1"
    program = f"import os; [os.write(2, b'x' * 1000) for _ in range({LARGEST_LOG // 1000 + 1})]"
    program += "; input(); os.write(2, b'later')"
    reader, writer = os.pipe()
    with log.open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", program], stdin=reader, stderr=output)
    wait_until(lambda: log.stat().st_size > LARGEST_LOG)
    service = ServiceProcess("idle", ("-c", "input()"), dict(os.environ), log=log)
    service.keep()
    assert log.stat().st_size == 0 and before.stat().st_size > LARGEST_LOG
    os.write(writer, b"\n")
    assert process.wait(10) == 0
    service.end(signal.SIGKILL)
    os.close(reader)
    os.close(writer)
    assert log.read_bytes().startswith(b"later")
