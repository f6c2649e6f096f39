"""Where a text stops being JSON, in the words of the decoder of kube-apiserver."""

from __future__ import annotations

import json
import re
from typing import Final

_SPACE: Final = re.compile(rb"[ \t\r\n]*+")
_STRING: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_INTEGER: Final = re.compile(rb"0|[1-9][0-9]*+")
_DIGITS: Final = re.compile(rb"[0-9]++")
_LITERALS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}
_END: Final = "unexpected end of JSON input"
_AFTER_VALUE: Final = {
    "{": "after object key:value pair",
    "[": "after array element",
    "": "after top-level value",
}
#: The name of a type in messages of Go's decoder.
_NAMES: Final = {str: "string", bool: "bool", list: "array", int: "number", float: "number"}


def json_name(value: object) -> str:
    """What a decoder calls the type of a value."""
    return "object" if isinstance(value, dict) else _NAMES.get(type(value), "null")


def syntax_error(raw: bytes) -> str:
    """Why a text is not JSON: the first wrong character; "" if the text is JSON."""
    try:
        _Scanner(raw).scan()
    except _SyntaxFault as fault:
        return str(fault)
    return ""


class _SyntaxFault(Exception):
    """The first wrong character, or the end of a text that is not complete."""


class _Scanner:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def scan(self) -> None:
        """Walk one value, without recursion; raises _SyntaxFault."""
        #: the objects and lists around the next value
        around: list[str] = []
        while True:
            opened = self._begin_value(around)
            if opened:
                continue
            while not self._goes_on(around):
                if not around:
                    return
                around.pop()

    def _begin_value(self, around: list[str]) -> bool:
        """Read a value, or the beginning of one that is not empty; whether a value follows."""
        char = self._next_char()
        if char == b"{":
            self._at += 1
            if self._skip_if(b"}"):
                return False
            self._key()
            around.append("{")
            return True
        if char == b"[":
            self._at += 1
            if self._skip_if(b"]"):
                return False
            around.append("[")
            return True
        if char == b'"':
            self._string()
        elif char in _LITERALS:
            self._literal(_LITERALS[char])
        elif char == b"-" or char.isdigit():
            self._number()
        else:
            self._fail("looking for beginning of value")
        return False

    def _goes_on(self, around: list[str]) -> bool:
        """Read what follows a value; whether another one follows in the same object or list."""
        inside = around[-1] if around else ""
        if not inside:
            self._at = self._end_of_space()
            if self._at < len(self._raw):
                self._fail(_AFTER_VALUE[""])
            return False
        char = self._next_char()
        if char == b",":
            self._at += 1
            if inside == "{":
                self._key()
            return True
        if char != (b"}" if inside == "{" else b"]"):
            self._fail(_AFTER_VALUE[inside])
        self._at += 1
        return False

    def _key(self) -> None:
        if self._next_char() != b'"':
            self._fail("looking for beginning of object key string")
        self._string()
        if self._next_char() != b":":
            self._fail("after object key")
        self._at += 1

    def _string(self) -> None:
        self._take(_STRING)
        char = self._char()
        if char == b"\\":
            self._at += 1
            if self._char() != b"u":
                self._fail("in string escape code")
            self._at += 1
            while self._char() in b"0123456789abcdefABCDEF":
                self._at += 1
            self._fail(r"in \u hexadecimal character escape")
        if char != b'"':
            self._fail("in string literal")
        self._at += 1

    def _literal(self, text: bytes) -> None:
        for wanted in text:
            if self._char() != bytes((wanted,)):
                why = f"in literal {text.decode()} (expecting {_quoted(wanted)})"
                self._fail(why)
            self._at += 1

    def _number(self) -> None:
        if self._char() == b"-":
            self._at += 1
        if not self._take(_INTEGER):
            self._fail("in numeric literal")
        if self._raw[self._at : self._at + 1] == b".":
            self._at += 1
            if not self._take(_DIGITS):
                self._fail("after decimal point in numeric literal")
        if self._raw[self._at : self._at + 1] in (b"e", b"E"):
            self._at += 1
            if self._char() in (b"+", b"-"):
                self._at += 1
            if not self._take(_DIGITS):
                self._fail("in exponent of numeric literal")

    def _take(self, pattern: re.Pattern[bytes]) -> bool:
        match = pattern.match(self._raw, self._at)
        self._at = match.end() if match else self._at
        return match is not None

    def _skip_if(self, char: bytes) -> bool:
        if self._next_char() != char:
            return False
        self._at += 1
        return True

    def _next_char(self) -> bytes:
        self._at = self._end_of_space()
        return self._char()

    def _end_of_space(self) -> int:
        match = _SPACE.match(self._raw, self._at)
        return match.end() if match else self._at

    def _char(self) -> bytes:
        if self._at >= len(self._raw):
            raise _SyntaxFault(_END)
        return self._raw[self._at : self._at + 1]

    def _fail(self, where: str) -> None:
        self._char()
        raise _SyntaxFault(f"invalid character {_quoted(self._raw[self._at])} {where}")


def _quoted(byte: int) -> str:
    """A byte as Go quotes it: the character of this number."""
    char = chr(byte)
    special = {"'": r"'\''", '"': "'\"'", "\a": r"'\a'", "\v": r"'\v'", "\\": r"'\\'"}
    if char in special:
        return special[char]
    if char in "\b\f\n\r\t":
        return f"'{json.dumps(char)[1:-1]}'"
    if char.isprintable():
        return f"'{char}'"
    return rf"'\x{byte:02x}'" if byte < 0x80 else rf"'\u{byte:04x}'"
