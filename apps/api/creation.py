"""Creates objects for the Kubernetes API on the event loop of the web front.

A client that creates an object needs none of Django's middleware. Its request is authenticated,
decoded, admitted and validated here, and concurrent requests are committed together
(`apps.cluster.writing.group_commit`). The Django view handles all other requests: other response
formats, dry runs, kinds that need more than one row, clusters with quotas or a manual clock.
"""

from __future__ import annotations

import asyncio
import logging
from weakref import WeakKeyDictionary

import psycopg
from django.contrib.auth.models import User
from django.http import HttpResponse

from apps.api.creation_routes import Route
from apps.api.creator import Created, Creator, Submission
from apps.api.kubernetes.views import refusal_response
from apps.cluster.availability import is_database_unavailable, refusal_for
from apps.cluster.connections import Rows, Statement
from apps.cluster.errors import ApiError

log = logging.getLogger(__name__)


def submit(route: Route, raw: bytes, request_id: str) -> Submission | None:
    """Send the object to the database, if nothing has to be awaited before.

    None if something has to be read first, if the response needs a warning, or if the request may
    be refused. Then nothing was done, and `create` answers the request.
    """
    creator = _creator()
    try:
        ready = creator.prepare(route, raw, request_id)
    except Exception:
        # `create` raises it again, where it is logged and answered
        return None
    return None if ready is None else creator.submit(*ready)


async def create(
    route: Route, raw: bytes, submission: Submission | None = None
) -> Created | HttpResponse:
    """The object that was created, or the response that refuses it.

    `submission` is one of this request that has failed. Raises NotSupported where the request has
    to take the way through Django.
    """
    try:
        return await _creator().create(route, raw, submission)
    except ApiError as refusal:
        return refusal_response(refusal)
    except Exception as error:
        if not (isinstance(error, psycopg.OperationalError) or is_database_unavailable(error)):
            raise
        log.error("the database is away, or too busy", exc_info=error)
        return refusal_response(refusal_for(error, writes=True))


async def authenticate(credentials: str) -> User:
    """The user of an Authorization header; Unauthorized for an invalid token.

    Raises NotSupported for another scheme than that of tokens.
    """
    return await _creator().user(credentials)


async def query(statement: Statement, values: list[bytes | None]) -> Rows:
    """The rows of a statement that is executed on the event loop."""
    return await _creator().query(statement, values)


_creators: WeakKeyDictionary[asyncio.AbstractEventLoop, Creator] = WeakKeyDictionary()


def _creator() -> Creator:
    loop = asyncio.get_running_loop()
    creator = _creators.get(loop)
    if creator is None:
        creator = _creators[loop] = Creator()
    return creator


async def close() -> None:
    """Close the connections of the running event loop; nothing is created on it any more."""
    creator = _creators.pop(asyncio.get_running_loop(), None)
    if creator is not None:
        await creator.close()
