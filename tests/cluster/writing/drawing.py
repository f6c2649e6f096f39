"""Lets tests say which names the server draws."""

from __future__ import annotations

import secrets
from itertools import chain, repeat

import pytest

from apps.cluster.admission.names import ALPHABET


def draw_names(monkeypatch: pytest.MonkeyPatch, letters: str) -> None:
    """Let the next names end with five of each of these letters, and then of the last one."""
    drawn = chain(letters, repeat(letters[-1]))
    monkeypatch.setattr(
        secrets, "token_bytes", lambda length: bytes([ALPHABET.index(next(drawn))] * length)
    )
