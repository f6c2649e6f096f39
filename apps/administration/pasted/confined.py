"""Answers questions about a pasted cluster in a process of its own.

What a user pastes must not take memory and time from the process that serves others: the process is
limited, has a lower priority, and is killed when it takes too long. Its transaction ends with it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

import django
import msgspec
from django.conf import settings
from django.db import connection

from apps.cluster import limits
from apps.cluster.errors import ApiError, BadRequest, TooManyRequests
from apps.cluster.manifests.text_files import Text

_NICENESS: Final = 5
_RETRY_SECONDS: Final = 10
_CONNECTED_BY: Final = ("NAME", "USER", "PASSWORD", "HOST", "PORT")
#: Those that a web process answers at a time.
_asked: Final = threading.BoundedSemaphore(2)


class _Request(msgspec.Struct):
    """What the process is asked to do."""

    texts: list[tuple[str, str]]
    configuration: str
    user: str
    #: how to connect to the database
    database: dict[str, str]
    memory: int
    seconds: int


class _Answer(msgspec.Struct, omit_defaults=True):
    result: msgspec.Raw = msgspec.Raw()
    error: str = ""


def ask_confined(
    texts: Sequence[Text],
    configuration: str,
    *,
    user: str,
    memory: int = limits.PASTED_MEMORY.highest,
    seconds: int = limits.PASTED_SECONDS.highest,
) -> dict[str, Any]:
    """The JSON of a `PastedCluster`.

    Raises BadRequest for what is wrong with the texts or the configuration, and for a cluster that
    needs more than `memory` bytes or `seconds`; TooManyRequests while as many as possible are
    answered.
    """
    if not _asked.acquire(blocking=False):
        raise TooManyRequests(
            "too many pasted clusters are being looked at",
            details={"retryAfterSeconds": _RETRY_SECONDS},
        )
    request = _Request(
        [(text.name, text.text) for text in texts],
        configuration,
        user,
        {name: str(connection.settings_dict[name]) for name in _CONNECTED_BY},
        memory,
        seconds,
    )
    try:
        answer = _run(request)
    finally:
        _asked.release()
    if answer.error:
        raise BadRequest(answer.error)
    result: dict[str, Any] = msgspec.json.decode(answer.result)
    return result


def _run(request: _Request) -> _Answer:
    too_large = f"manifest: the cluster takes more than {request.seconds} s; paste a part of it"
    try:
        process = subprocess.run(
            [sys.executable, "-m", __name__],
            input=msgspec.json.encode(request),
            stdout=subprocess.PIPE,
            cwd=settings.BASE_DIR,
            env={**os.environ, "SCHEDWEB_CONNECTION_POOL": "0"},
            timeout=request.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BadRequest(too_large) from error
    if not process.stdout:
        raise BadRequest(f"the process that looks at it ended with {process.returncode}")
    return msgspec.json.decode(process.stdout, type=_Answer)


def main() -> None:
    """The other end: answer the request that stdin has."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    os.nice(_NICENESS)
    settings.DATABASES["default"] |= request.database
    django.setup()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (request.memory, request.memory))
    sys.stdout.buffer.write(msgspec.json.encode(_answer(request)))
    sys.stdout.buffer.flush()
    # threads that wait for writes of others do not end
    os._exit(0)


def _answer(request: _Request) -> _Answer:
    # they need Django
    from apps.administration.pasted.asking import ask
    from apps.answers import to_json

    texts = [Text(*each) for each in request.texts]
    try:
        found = to_json(ask(texts, request.configuration, user=request.user))
    except ApiError as error:
        return _Answer(error=error.message)
    except MemoryError:
        most = request.memory // (1024 * 1024)
        return _Answer(error=f"manifest: the cluster needs more than {most:,} MiB; paste a part")
    return _Answer(result=msgspec.Raw(msgspec.json.encode(found)))


if __name__ == "__main__":
    main()
