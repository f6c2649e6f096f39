"""Streams over WebSocket, event by event."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schedweb.front.websockets import WebSocketRequest

PROTOBUF = b"application/vnd.kubernetes.protobuf;stream=watch"


@pytest.mark.parametrize(
    ("content_type", "chunks", "frames"),
    [
        (
            b"application/json",
            (b"{}\n{", b'"a":1}\n[]'),
            [{"text": "{}\n"}, {"text": '{"a":1}\n'}, {"text": "[]"}],
        ),
        # the bytes of an event may contain line breaks; an event may come in two parts
        (
            PROTOBUF,
            (b"\0\0\0\2a\n\0\0", b"\0\1b\0\0\0\0"),
            [{"bytes": b"a\n"}, {"bytes": b"b"}, {"bytes": b""}],
        ),
    ],
)
def test_each_event_is_a_frame(
    content_type: bytes, chunks: tuple[bytes, ...], frames: list[dict[str, Any]]
) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def stream() -> None:
        request = WebSocketRequest({"type": "websocket", "headers": []}, send, send)
        headers = [(b"content-type", content_type)]
        await request.send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in chunks:
            await request.send({"type": "http.response.body", "body": chunk, "more_body": True})
        await request.send({"type": "http.response.body", "body": b"", "more_body": False})

    asyncio.run(stream())
    assert [message["type"] for message in sent][:1] == ["websocket.accept"]
    assert sent[-1]["type"] == "websocket.close"
    assert sent[1:-1] == [{"type": "websocket.send", **frame} for frame in frames]
