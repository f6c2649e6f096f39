"""``python -m schedweb.embedded``: runs only the database, in the foreground, for development."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType

from schedweb import config
from schedweb.datafolder import DataFolder, DataFolderBusy, DataFolderUnusable
from schedweb.embedded.places import PlacesError
from schedweb.embedded.postgres import Postgres, PostgresError


def main() -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with DataFolder(config.load().data, purpose="python -m schedweb.embedded") as folder:
            _run(folder)
    except (DataFolderBusy, DataFolderUnusable, PlacesError, PostgresError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _run(folder: DataFolder) -> None:
    postgres = Postgres(folder.path, log=folder.path / "log" / "postgres.log")
    try:
        postgres.start()
        folder.announce_database(postgres.url)
        print(f"PostgreSQL is running at {postgres.url}\nPress Ctrl-C to stop it.", flush=True)
        while postgres.poll() is None:
            time.sleep(0.5)
        raise PostgresError("PostgreSQL exited unexpectedly")
    except KeyboardInterrupt:
        print("Stopping", flush=True)
    finally:
        postgres.stop()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
