"""The formats of custom resources: each answer is that of the API server of 1.36.2."""

from __future__ import annotations

import pytest

from apps.cluster.validation.formats import has_format

LONG = 4_000


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("1h30m", True),
        ("-1.5h", True),
        (".5s", True),
        ("1h" * 2_000, True),
        ("0." + "1" * LONG + "s", True),
        ("1" * LONG, False),
        ("1" * LONG + "s", False),
        ("9223372036854775808ns", False),
        ("3 days", True),
        ("3 w", True),
        ("-3d", True),
        ("1.5 days", True),
        ("x 3 days x", True),
        ("1 days2 days", True),
        ("1h 3x", True),
        ("3 fortnights", False),
        ("1" * 40 + " days", False),
    ],
)
def test_a_duration_is_that_of_go_or_a_number_with_a_unit(text: str, fits: bool) -> None:
    assert has_format("duration", text) is fits


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("a@b", True),
        ("<a@b>", True),
        (" a@b ", True),
        ("Name <a@b>", True),
        ("A. B <a@b>", True),
        ('"a"<a@b>', True),
        ('"x y"@b', True),
        (r'"a\"b"@c', True),
        ("=?utf-8?q?a?= <a@b>", True),
        ("a@b (c)", True),
        ("a@[1.2.3.4]", True),
        ("ü@b", True),
        ("grp: a@b;", True),
        ("(" * LONG, False),
        ("(" * 100_000 + "a@b", False),
        ("a@b " + "(" * 100_000, False),
        ("(c) a@b", False),
        ("a@b (c", False),
        ("a(x)@b", False),
        ("a@(x)b", False),
        ("a@b, c@d", False),
        ("grp: a@b, c@d;", False),
        ("<@x:a@b>", False),
        ("N <a@b", False),
        ("x <a@b> y", False),
        ("a b@c", False),
        ("a @ b", False),
        ("a..b@c", False),
        ("a.@b", False),
        ("a@b.", False),
        ("a@b\n", False),
        ("a@b@c", False),
        ("a[b@c", False),
        ("a@[x]", False),
        ("a@[]", False),
        ("a@", False),
        ("@b", False),
        ("", False),
    ],
)
def test_an_email_is_one_address(text: str, fits: bool) -> None:
    assert has_format("email", text) is fits
