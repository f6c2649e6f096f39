"""JSON and YAML that clients send: what they mean, and what is said of a text that is none."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.documents import UnreadableDocument, parse_json, parse_yaml, repeated_keys


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":1,', "unexpected end of JSON input"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a":1}{}', "invalid character '{' after top-level value"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        ("nul1", "invalid character '1' in literal null (expecting 'l')"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        (r'"\x"', "invalid character 'x' in string escape code"),
        (r'"\u12g4"', r"invalid character 'g' in \u hexadecimal character escape"),
        ('"a\n"', r"invalid character '\n' in string literal"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        ('{"a":[{"b":[]},{}],"c":tru}', "invalid character '}' in literal true (expecting 'e')"),
    ],
)
def test_the_first_wrong_character_of_json_is_named(text: str, problem: str) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        parse_json(text.encode())
    assert str(refused.value) == f"json parse error: {problem}"


def test_halves_of_characters_are_replaced() -> None:
    raw = rb'{"lone":"\ud800x","pair":"\ud83d\ude00","text":"\\ud800","bytes":"\xff"}'.replace(
        rb"\xff", b"\xff"
    )
    replaced = "\ufffd"
    assert parse_json(raw) == {
        "lone": f"{replaced}x",
        "pair": "\U0001f600",
        "text": r"\ud800",
        "bytes": replaced,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("No", False),
        ("yEs", "yEs"),
        ("1_000", 1000),
        ("010", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", 3),
        ("089", 89.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1:20", "1:20"),
        ("2001-01-01", "2001-01-01"),
        ("~", None),
        ("{y: 1, 2: b, 1.5: c}", {"true": 1, "2": "b", "1.5": "c"}),
    ],
)
def test_plain_text_in_yaml_is_read_as_kubernetes_reads_it(text: str, value: Any) -> None:
    assert parse_yaml(text) == value


def test_keys_that_occur_twice_are_named_with_their_lines() -> None:
    text = b"metadata:\n  name: c\n  name: d\nitems: [{a: 1, a: 2}]\ndata: {a: 1}\nx: 1\nx: 2\n"
    assert sorted(repeated_keys(text)) == [
        'line 3: key "name" already set in map',
        'line 4: key "a" already set in map',
        'line 7: key "x" already set in map',
    ]
    shared = b"a: &a {b: 1, b: 2}\nc: *a\n"
    assert list(repeated_keys(shared)) == ['line 1: key "b" already set in map']
