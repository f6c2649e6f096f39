"""The head of a response is sent together with its body."""

from __future__ import annotations

import asyncio

from schedweb.front.joined_writes import JoinedWrites

HEAD = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n"


class Recorder(asyncio.Transport):
    """What reaches the socket."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        assert not self.closed
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True


async def written(*pieces: bytes, close: bool = False) -> list[bytes]:
    socket = Recorder()
    joined = JoinedWrites(socket)
    for piece in pieces:
        joined.write(piece)
    if close:
        joined.close()
        assert socket.closed
    await asyncio.sleep(0)
    return socket.writes


def test_a_small_body_follows_its_head_in_one_write() -> None:
    assert asyncio.run(written(HEAD, b"{}")) == [HEAD + b"{}"]
    assert asyncio.run(written(HEAD, b"", HEAD, b"{}")) == [HEAD, HEAD + b"{}"]


def test_a_head_does_not_wait_for_its_body() -> None:
    assert asyncio.run(written(HEAD)) == [HEAD]
    assert asyncio.run(written(HEAD, close=True)) == [HEAD]
    assert asyncio.run(written(HEAD, HEAD)) == [HEAD + HEAD]


def test_a_response_causes_no_round_of_the_event_loop() -> None:
    async def scheduled() -> int:
        loop = asyncio.get_running_loop()
        later: list[object] = []
        loop.call_soon = lambda *call, **context: later.append(call)  # type: ignore[method-assign, assignment]
        try:
            joined = JoinedWrites(Recorder())
            joined.write(HEAD)
            joined.write(b"{}")
        finally:
            del loop.call_soon
        return len(later)

    assert asyncio.run(scheduled()) == 0


def test_a_large_body_is_not_copied() -> None:
    large = bytes(100_000)
    assert asyncio.run(written(HEAD, large, b"x")) == [HEAD, large, b"x"]
