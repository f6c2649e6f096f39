"""Log lines as text and as JSON."""

from __future__ import annotations

import json
import logging
import sys

from apps.cluster.context import request_context
from schedweb.logs import JsonFormatter, PasswordLinkFilter, RequestIdFilter, TextFormatter


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
