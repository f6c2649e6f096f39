"""``python -m schedweb.supervisor`` (``make up``): runs the whole site under one process.

    data folder locked, ports open -> database | fork server -> prepare | web, workers, beat
                                               -> gate opened -> ready

One thread: the loop sleeps until a signal (such as the exit of a child) and then checks everything.
The kernel binds every child to the lifetime of this process (``embedded.bound``), so none outlives
it.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from schedweb.config import SITE_POINTER, Config, InvalidEnvironment, load
from schedweb.datafolder import DataFolder, DataFolderBusy, DataFolderUnusable, write_private
from schedweb.embedded import bound
from schedweb.embedded.places import PlacesError
from schedweb.embedded.postgres import Postgres, PostgresError
from schedweb.front.listening import listen_for
from schedweb.gate import Gate
from schedweb.service import ForkServer, ServiceProcess, rotate_log, say

#: Seconds for web, workers and beat to finish their work.
STOP_SECONDS = 10.0

#: Seconds after which an incomplete start is reported as slow.
READY_SECONDS = 60.0

#: Seconds without a sign of life after which a process is killed. The event loop of the front gives
#: one each second, whatever it has to do, and so does a thread of a worker, but for a long
#: collection of garbage; beat may wait for a broker with each of its messages.
WEB_PATIENCE = 5.0
WORKER_PATIENCE = 10.0
FORK_PATIENCE = 10.0
BEAT_PATIENCE = 30.0

#: The http port and the https port of one process of the front.
Ports = tuple[socket.socket, socket.socket]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


#: The variable with the password of the first user.
PASSWORD = "SCHEDWEB_ADMIN_PASSWORD"


class StartError(Exception):
    """The site cannot be started; the message gives the reason."""


class Supervisor:
    def __init__(self, config: Config, folder: DataFolder) -> None:
        self._config = config
        self._folder = folder
        self._postgres: Postgres | None = None
        self._forks: ForkServer | None = None
        self._services: list[ServiceProcess] = []
        self._gate = Gate()
        self._stopping = False
        self._wakeup = -1

    def run(self) -> None:
        """Start everything, keep it running, and stop it in order on a signal."""
        started = time.monotonic()
        with self._signals(), self._sockets() as fronts:
            plain, secure = fronts[0]
            try:
                self._announce(plain, secure)
                self._create_database()
                self._start_fork_server()
                self._start_database()
                self._await_fork_server()
                self._start_services(fronts)
                self._prepare()
                self._watch(until=self._is_ready(plain), limit=READY_SECONDS)
                self._report_ready(plain, secure, time.monotonic() - started)
                self._watch()
            finally:
                self._stop()

    def _announce(self, plain: socket.socket, secure: socket.socket) -> None:
        """Publish the URLs of the site, for a second ``make up`` and every process started here."""
        self._folder.describe(f"make up (process {os.getpid()}), {_url('http', plain)}")
        write_private(self._folder.path / SITE_POINTER, _url("https", secure))

    def _create_database(self) -> None:
        if self._config.embedded_database:
            log = self._folder.path / "log" / "postgres.log"
            self._postgres = Postgres(self._folder.path, log=log)

    def _start_fork_server(self) -> None:
        """Start what loads everything, while the database starts."""
        if sys.platform == "linux":
            bound.adopt_orphans()
            log = self._folder.path / "log" / "fork-server.log"
            self._forks = ForkServer(self._environment(), log=log, patience=FORK_PATIENCE)
            self._forks.start()

    def _start_database(self) -> None:
        if self._postgres is not None:
            self._postgres.start()
            self._folder.announce_database(self._postgres.url)

    def _await_fork_server(self) -> None:
        """Wait until the fork server can start processes, or has failed."""
        while self._forks is not None and not self._forks.is_ready() and not self._should_stop():
            if self._forks.poll() is not None:
                return
            self._sleep(0.02)

    def _prepare(self) -> None:
        environment = self._environment() | {PASSWORD: self._config.admin_password}
        prepare = ServiceProcess(
            "prepare", ("manage.py", "prepare"), environment, log=None, forks=self._forks
        )
        prepare.start()
        while prepare.poll() is None and not self._should_stop():
            self._sleep(1.0)
        if self._should_stop():
            prepare.end(signal.SIGTERM)
        elif prepare.poll() != 0:
            raise StartError("could not prepare the site (see above)")
        self._gate.open()

    def _start_services(self, fronts: Sequence[Ports]) -> None:
        self._services = [
            *(self._front(number, fronts) for number in range(1, len(fronts) + 1)),
            *(
                self._service(
                    *(f"worker-{number}", "-m", "schedweb.worker", f"worker-{number}"),
                    patience=WORKER_PATIENCE,
                )
                for number in range(1, self._config.workers + 1)
            ),
            self._service("beat", "-m", "schedweb.beat", patience=BEAT_PATIENCE),
        ]
        for service in self._services:
            service.start()

    def _front(self, number: int, fronts: Sequence[Ports]) -> ServiceProcess:
        """A web process with its ports, and with those of the others, for which it stands in."""
        own = fronts[number - 1]
        ports = (own, *(each for each in fronts if each is not own))
        descriptors = tuple(listener.fileno() for pair in ports for listener in pair)
        name = "web" if number == 1 else f"web-{number}"
        arguments = ("-m", "schedweb.front", *map(str, descriptors))
        return self._service(*(name, *arguments), descriptors=descriptors, patience=WEB_PATIENCE)

    def _watch(self, until: Callable[[], bool] | None = None, limit: float | None = None) -> None:
        """Keep everything running until a stop signal, *until* holds or *limit* seconds passed."""
        deadline = None if limit is None else time.monotonic() + limit
        while not self._stopping:
            self._keep_database()
            for service in self._kept():
                service.keep()
            self._collect_orphans()
            if until is not None and until():
                return
            if deadline is not None and time.monotonic() > deadline:
                return
            self._sleep(0.05 if until is not None else 0.5)

    def _kept(self) -> list[ServiceProcess]:
        """Every process that is started again when it ends, but for the database."""
        return [*self._services, *([self._forks] if self._forks else [])]

    def _collect_orphans(self) -> None:
        """Let go of descendants that have ended after their parent: connections of a database.

        Called after the children themselves were asked for their exit codes.
        """
        database = self._postgres.pid if self._postgres else None
        own = {database, *(service.pid for service in self._kept())}
        with contextlib.suppress(ChildProcessError):
            while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if found.si_pid in own:
                    return
                os.waitpid(found.si_pid, 0)

    def _keep_database(self) -> None:
        if self._postgres is None:
            return
        rotate_log(self._postgres.log)
        if self._postgres.end_slow_shutdown():
            say("the database was told to stop, and waits for its clients; restarting it")
        if self._postgres.poll() is not None:
            say("the database exited; restarting it")
            self._postgres.launch()
            # The last processes of a dead server may hold the data folder for a moment.
            self._sleep(0.5)

    def _is_ready(self, plain: socket.socket) -> Callable[[], bool]:
        host, port = plain.getsockname()[:2]
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)

        def ask() -> bool:
            # Until the front runs, the open socket accepts the request without a response.
            web = http.client.HTTPConnection(host, port, timeout=5)
            try:
                web.request("GET", "/readyz", headers={"Host": "localhost"})
                return web.getresponse().status == http.HTTPStatus.OK
            except (OSError, http.client.HTTPException):
                return False
            finally:
                web.close()

        return ask

    def _report_ready(self, plain: socket.socket, secure: socket.socket, seconds: float) -> None:
        if self._stopping:
            return
        http_url, https_url = _url("http", plain), _url("https", secure)
        if self._is_ready(plain)():
            say(f"ready after {seconds:.1f} s: {http_url}  (programs: {https_url})")
        else:
            say(f"not everything works yet; see {http_url}/readyz and {self._folder.path}/log")

    def _stop(self) -> None:
        self._stopping = True
        if self._forks is not None:
            self._forks.end(signal.SIGKILL)
        running = [service for service in self._services if service.poll() is None]
        for service in running:
            service.signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(service.poll() is None for service in running) and time.monotonic() < deadline:
            self._sleep(0.2)
        for service in running:
            service.end(signal.SIGKILL)
        if self._postgres is not None:
            self._postgres.stop()
        (self._folder.path / SITE_POINTER).unlink(missing_ok=True)
        say("stopped")

    def _service(
        self,
        name: str,
        *arguments: str,
        descriptors: tuple[int, ...] = (),
        patience: float,
    ) -> ServiceProcess:
        return ServiceProcess(
            name,
            arguments,
            self._environment(),
            log=self._folder.path / "log" / f"{name}.log",
            descriptors=descriptors,
            gate=self._gate,
            patience=patience,
            forks=self._forks,
        )

    def _environment(self) -> dict[str, str]:
        url = self._postgres.url if self._postgres else self._config.database_url
        # pgmq would read its address from the first two; only "prepare" needs the password
        foreign = ("DATABASE_URL", "PG_", PASSWORD)
        kept = {name: v for name, v in os.environ.items() if not name.startswith(foreign)}
        return kept | {
            "SCHEDWEB_DATA": os.fspath(self._folder.path),
            "SCHEDWEB_DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "schedweb.settings",
            "PYTHONUNBUFFERED": "1",
        }

    @contextlib.contextmanager
    def _sockets(self) -> Iterator[list[Ports]]:
        """The site's ports, opened here so that they stay open while a front restarts."""
        with contextlib.ExitStack() as stack:
            bound = []
            for name in ("port", "tls_port"):
                port: int = getattr(self._config, name)
                try:
                    opened = listen_for(self._config.web_processes, self._config.bind, port)
                except OSError as error:
                    raise StartError(
                        f"cannot open port {port} ({error.strerror}); "
                        f"choose another with SCHEDWEB_{name.upper()}"
                    ) from error
                bound.append([stack.enter_context(listener) for listener in opened])
            yield list(zip(bound[0], bound[1], strict=True))

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Let signals interrupt :meth:`_sleep`; stop signals also set the flag."""
        self._wakeup, sender = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(sender, False)
        signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            # nohup ignores SIGHUP on purpose; a shell ignores SIGINT for any background process
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._request_stop)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        yield

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        if not self._stopping:
            say("stopping")
        self._stopping = True

    def _should_stop(self) -> bool:
        """Read again each time, because a signal may have arrived."""
        return self._stopping

    def _sleep(self, seconds: float) -> None:
        select.select([self._wakeup], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._wakeup, 4096)


def _url(scheme: str, listener: socket.socket) -> str:
    return f"{scheme}://localhost:{listener.getsockname()[1]}"


def main() -> int:
    try:
        config = load()
        with DataFolder(config.data, purpose="make up") as folder:
            Supervisor(config, folder).run()
    except (
        *(DataFolderBusy, DataFolderUnusable),
        *(InvalidEnvironment, PlacesError, PostgresError, StartError),
    ) as error:
        say(f"not started: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
