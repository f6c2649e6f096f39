"""Runs a scenario in a process of its own, which may use so much memory and processor time.

A worker schedules clusters in its own memory. What a user describes in a file must not take it from
them: the process is limited, has a lower priority, and is killed when the operation is cancelled.
Both ends write JSON lines: the request, then progress, then the result or an error.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import django
import msgspec
from django.conf import settings

from apps.cluster import limits
from apps.cluster.errors import ApiError, BadRequest, TooManyRequests
from apps.studies.scenarios.language.reading import Problem, ScenarioError, Source

Body = dict[str, Any]
#: Called at least once a second: the finished runs, the next run, its seconds that have passed.
Progress = Callable[[int, str, float], None]

#: Seconds between two reports.
_REPORT_SECONDS: Final = 0.25
_LOOK_SECONDS: Final = 1.0
_NICENESS: Final = 5
_RETRY_SECONDS: Final = 5
#: Those that a web process checks at a time in processes.
_checks: Final = threading.BoundedSemaphore(2)


class Checked(msgspec.Struct):
    """A scenario without anything wrong."""

    name: str
    #: how many it has
    runs: int


class _Request(msgspec.Struct):
    """What the process is asked to do."""

    text: str
    name: str
    files: dict[str, bytes]
    memory: int
    seconds: int
    #: check the text, and run nothing
    checks: bool = False


class _Answer(msgspec.Struct, omit_defaults=True):
    """One line of the process; the last one has a result or an error."""

    done: int = 0
    variation: str = ""
    seconds: float = 0.0
    result: msgspec.Raw = msgspec.Raw()
    error: str = ""
    #: what is wrong with the text
    problems: list[Problem] = []


def check_text(
    text: str,
    name: str,
    *,
    memory: int = limits.SCENARIO_CHECK_MEMORY.highest,
    seconds: int = limits.SCENARIO_CHECK_CPU.highest,
) -> Checked:
    """Check the text of a scenario; raises ScenarioError for what is wrong with it.

    A long text, and one with aliases, is checked in a process, which takes about two seconds to
    start: BadRequest if it needs more than `memory` or `seconds`, TooManyRequests while as many as
    possible are being checked. The worst short text takes less than 0.2 s and 20 MB.
    """
    if limits.SCENARIO_INLINE.admits(len(text)) and "*" not in text:
        return _check(text, name)
    if not _checks.acquire(blocking=False):
        raise TooManyRequests(
            "too many long scenarios are being checked",
            details={"retryAfterSeconds": _RETRY_SECONDS},
        )
    try:
        request = _Request(text, name, {}, memory, seconds, checks=True)
        with _process(msgspec.json.encode(request)) as process:
            for answer in _answers(process):
                if answer.problems:
                    raise ScenarioError(answer.problems, name)
                if answer.error:
                    raise BadRequest(answer.error)
                if answer.result:
                    return msgspec.json.decode(answer.result, type=Checked)
            raise BadRequest(_describe_end(process.wait(), request))
    finally:
        _checks.release()


def _check(text: str, name: str) -> Checked:
    # they need Django
    from apps.studies.scenarios.language.checking import count_runs
    from apps.studies.scenarios.running.sweeping import load_scenario

    scenario = load_scenario(Source(text, name))
    return Checked(scenario.name, count_runs(scenario))


def run_confined(
    text: str,
    name: str,
    files: Mapping[str, bytes],
    progress: Progress,
    *,
    memory: int = limits.SCENARIO_MEMORY.highest,
    seconds: int = limits.SCENARIO_CPU.highest,
) -> Body:
    """The presented result of a scenario, whose file has this name.

    Raises BadRequest for what a run finds wrong, and for one that needs more than `memory` bytes or
    `seconds` of a processor. Whatever `progress` raises ends the process.
    """
    request = _Request(text, name, dict(files), memory, seconds)
    with _process(msgspec.json.encode(request)) as process:
        for answer in _answers(process):
            if answer.error:
                raise BadRequest(answer.error)
            if answer.result:
                result: Body = msgspec.json.decode(answer.result)
                return result
            progress(answer.done, answer.variation, answer.seconds)
        raise BadRequest(_describe_end(process.wait(), request))


@contextmanager
def _process(request: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """The process that has read the request; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=settings.BASE_DIR,
        env={**os.environ, "SCHEDWEB_CONNECTION_POOL": "0"},
    )
    with process:
        try:
            assert process.stdin is not None
            process.stdin.write(request)
            process.stdin.close()
            yield process
        finally:
            process.kill()


def _answers(process: subprocess.Popen[bytes]) -> Iterator[_Answer]:
    """What the process says, and its last report again in each second without one."""
    assert process.stdout is not None
    last, rest = _Answer(), b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(_LOOK_SECONDS):
                yield last
                continue
            read = os.read(process.stdout.fileno(), 1 << 20)
            if not read:
                return
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                last = msgspec.json.decode(line, type=_Answer)
                yield last


def _describe_end(code: int, request: _Request) -> str:
    """Why a process ended without a result."""
    if code == -signal.SIGXCPU:
        return f"the scenario needs more than {request.seconds:,} seconds of a processor"
    return f"the process of the scenario ended with {code}"


def main() -> None:
    """The other end: run the scenario that stdin has."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=_Request)
    os.nice(_NICENESS)
    django.setup()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (request.seconds, request.seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (request.memory, request.memory))
    try:
        answer = _Answer(result=msgspec.Raw(_result_of(request)))
    except ScenarioError as error:
        answer = _Answer(error=error.message, problems=error.problems)
    except ApiError as error:
        answer = _Answer(error=error.message)
    except MemoryError:
        most = request.memory // (1024 * 1024)
        answer = _Answer(error=f"the scenario needs more than {most:,} MiB of memory")
    _write(answer)


def _result_of(request: _Request) -> bytes:
    if request.checks:
        return msgspec.json.encode(_check(request.text, request.name))
    return _run(request)


def _run(request: _Request) -> bytes:
    """The presented result as JSON."""
    # they need Django
    from apps.studies.importers.source_files import Files
    from apps.studies.scenarios.results.presenting import present_scenario
    from apps.studies.scenarios.running.run import Variation
    from apps.studies.scenarios.running.sweeping import load_scenario, run_scenario

    reported = 0.0

    def report(done: int, variation: Variation, seconds: float) -> None:
        nonlocal reported
        if time.monotonic() - reported > _REPORT_SECONDS:
            reported = time.monotonic()
            _write(_Answer(done, variation.name, seconds))

    source = Source(request.text, request.name)
    finished = run_scenario(load_scenario(source), source, Files(sent=request.files), report)
    return msgspec.json.encode(present_scenario(finished))


def _write(answer: _Answer) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
