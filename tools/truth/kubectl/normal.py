"""What is random in the output of kubectl, blanked."""

from __future__ import annotations

import json
import re
from typing import Final

from tests.stack.kubectl import Outcome

_PATTERNS: Final = (
    # of the stack of a panic of kubectl
    (r"0x[0-9a-f]+", "0x"),
    (r"\b10\.\d+\.\d+\.\d+\b", "<ip>"),
    (r"(nodePort\"?:|NodePort: +\S+) +\d+", r"\1 <port>"),
    (r":3[0-2]\d{3}/", ":<port>/"),
    (r"(Resource Version: +)\d+", r"\1<rv>"),
    # of templates, and of generated names
    (r"-(?:[bcdfghjklmnpqrstvwxz2456789]{8,10}|[0-9a-f]{8,10})\b", "-<hash>"),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<rand>"),
    (r"(pod-template-hash|controller-revision-hash)(\"?[=:] *\"?)[0-9a-z]+", r"\1\2<hash>"),
)


def blanked(outcome: Outcome, server: str) -> Outcome:
    return Outcome(outcome.exit, _text(outcome.stdout, server), _text(outcome.stderr, server))


def _text(text: str, server: str) -> str:
    text = (
        _in_order(text).replace(server, "<server>").replace(server.partition("//")[2], "<server>")
    )
    # a column is as wide as its longest cell
    text = re.sub(r"(?<=\S) {3,}", "  ", text)
    for pattern, shown in _PATTERNS:
        text = re.sub(pattern, shown, text)
    return text


def _in_order(text: str) -> str:
    """Without the order of fields, and versions, if it is a line of JSON as the server sent it."""
    if not text.startswith("{") or "\n" in text:
        return text
    try:
        body = json.loads(text)
    except ValueError:
        return text
    ordered = json.dumps(body, sort_keys=True)
    return re.sub(r'("resourceVersion": )"\d+"', r'\1"<rv>"', ordered)
