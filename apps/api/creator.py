"""Carries out the creations of one event loop: what they share, and each step of one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from django.contrib.auth.models import User
from django.db import close_old_connections

from apps.api.creation_routes import Route
from apps.api.kubernetes import bodies, media, params, verbs
from apps.api.kubernetes.presenting import warning_header
from apps.cluster import kinds
from apps.cluster.access.deciding import decide, require
from apps.cluster.access.grants import is_remembered, role_of
from apps.cluster.access.identity import identity_with
from apps.cluster.access.questions import Access
from apps.cluster.access.rates import count_request
from apps.cluster.access.refusals import refuse
from apps.cluster.connections import Connections, Rows, Statement, connect
from apps.cluster.context import current_request_id
from apps.cluster.errors import ApiError, NotFound, Unauthorized
from apps.cluster.log.announce import announcer
from apps.cluster.quota import room
from apps.cluster.roles import Role
from apps.cluster.writes import Actor
from apps.cluster.writing import creation, group_commit, sent_pods
from apps.cluster.writing.admitted_specs import AdmittedSpecs
from apps.cluster.writing.loop_announcer import LoopAnnouncer
from apps.cluster.writing.memory import AdmissionState, read_admission_state
from apps.people.authentication import InvalidCredentials, user_of_authorization

T = TypeVar("T")

#: A key that was found valid is taken as valid for so long, also when it is deleted meanwhile.
KEY_SECONDS: Final = 2.0
#: So often an object is admitted again because the state was out of date, or its name taken; then
#: the store's own way takes it, which reads under its locks.
TRIES: Final = 5
_KEYS_KEPT: Final = 1000
_STATES_KEPT: Final = 200


class NotSupported(Exception):
    """The request has to be handled by the Django view; nothing was written."""


@dataclass(frozen=True, slots=True)
class Created:
    """An object that was created, as JSON text."""

    text: bytes
    #: The value of the Warning header; "" without warnings.
    warning: str


@dataclass(frozen=True, slots=True)
class Submission:
    """An object that is on its way into the database."""

    prepared: creation.Creation
    #: The version it is stored with; fails as `GroupCommit.submit` says.
    version: asyncio.Future[int]

    def created(self, version: int, warnings: list[str]) -> Created:
        """The object as it was stored."""
        return Created(
            media.json_text(self.prepared.text(version)),
            warning_header(warnings) if warnings else "",
        )


async def require_access(user: User, cluster: str, access: Access) -> None:
    """Raise Forbidden unless the user may do it in the cluster with this name.

    NotFound, as if there were no such cluster, for a user who does not see it.
    """
    if is_remembered(user, cluster):
        role = role_of(user, cluster)
    else:
        role = await _in_thread(lambda: role_of(user, cluster))
    if role is None:
        refuse(user.username, NotFound("clusters", cluster))
    require(identity_with(user, role), access)


class Creator:
    """What creations on one event loop share: known keys, admission states, groups."""

    def __init__(self) -> None:
        self._connections = Connections(connect)
        self._loop = asyncio.get_running_loop()
        self._announcer = LoopAnnouncer(self._connections)
        announcer.forward_to(self._announce)
        #: Authorization header -> (the user, expiry on the monotonic clock)
        self._users: dict[str, tuple[asyncio.Future[User], float]] = {}
        #: (Authorization header, what may be done) -> the user who may do it in this role
        self._permitted: dict[tuple[str, Access], tuple[User, Role]] = {}
        #: cluster's name -> the state, or the reading of it that is under way
        self._states: dict[str, asyncio.Future[AdmissionState]] = {}
        #: cluster's id -> its version after the last creation
        self._versions: dict[int, int] = {}
        self._specs = AdmittedSpecs()
        self._closed = False
        #: cluster's id -> its group, as long as a creation is under way
        self._groups: WeakValueDictionary[int, group_commit.GroupCommit] = WeakValueDictionary()

    def prepare(
        self, route: Route, raw: bytes, request_id: str
    ) -> tuple[creation.Creation, AdmissionState] | None:
        """The object of a request, and the state it was admitted with; see `submit`."""
        user, state = self._known_user(route), self._known_state(route.cluster)
        if user is None or state is None or not state.allows(route.target.resource.kind):
            return None
        if not room.has_room(self._versions.get(state.cluster_id, 0)):
            return None
        actor = _actor(route, user, request_id)
        prepared = self._prepare_known(route, raw, state, actor)
        if prepared is None:
            body, warnings = _read(route, raw)
            if warnings:
                return None
            prepared = self._prepare(route, body, state, actor)
        if prepared.warnings:
            return None
        count_request(user.username)
        return prepared, state

    def submit(self, prepared: creation.Creation, state: AdmissionState) -> Submission:
        return Submission(prepared, self._group(state).submit(prepared, state))

    async def create(
        self, route: Route, raw: bytes, submission: Submission | None = None
    ) -> Created:
        if submission is not None:
            with contextlib.suppress(group_commit.StaleState):
                return submission.created(await submission.version, [])
        arrived_at = time.monotonic()
        user = await self.user(route.credentials)
        await require_access(user, route.cluster, route.access)
        actor = _actor(route, user, current_request_id())
        state = await self._state(route.cluster)
        await self._check_room(state.cluster_id)
        for _ in range(TRIES):
            body, warnings = _read(route, raw)
            if not state.allows(route.target.resource.kind):
                break
            try:
                prepared = self._prepare(route, body, state, actor)
            except ApiError:
                # the namespace that is missing, say, may have been created after the reading began,
                # and before this request
                if state.begun_at >= arrived_at:
                    raise
                state = await self._read_again(route.cluster, state)
                continue
            submission = self.submit(prepared, state)
            try:
                version = await submission.version
            except group_commit.StaleState:
                state = await self._read_again(route.cluster, state)
                continue
            return submission.created(version, warnings + prepared.warnings)
        # what is not simple now may be simple later
        self._forget(route.cluster, state)
        raise NotSupported

    def _prepare_known(
        self, route: Route, raw: bytes, state: AdmissionState, actor: Actor
    ) -> creation.Creation | None:
        """The pod in a body, if its spec was admitted before."""
        if route.target.resource.kind is not kinds.POD or not _is_json(route.content_type):
            return None
        pod = sent_pods.read_pod(raw)
        if pod is None:
            return None
        _check_parameters(route)
        verbs.check_creatable(route.target, {"metadata": pod.metadata})
        namespace = route.target.namespace or ""
        return creation.prepare_known(pod, namespace, state=state, actor=actor, specs=self._specs)

    def _prepare(
        self, route: Route, body: dict[str, Any], state: AdmissionState, actor: Actor
    ) -> creation.Creation:
        kind, namespace = route.target.resource.kind, route.target.namespace or ""
        return creation.prepare(kind, body, namespace, state=state, actor=actor, specs=self._specs)

    async def _check_room(self, cluster_id: int) -> None:
        """Raise Forbidden if the cluster has as many objects as the site allows."""
        version = self._versions.get(cluster_id, 0)
        if room.needs_count(cluster_id, version):
            await _in_thread(lambda: room.check_room(cluster_id, version))
        else:
            room.check_room(cluster_id, version)

    async def query(self, statement: Statement, values: list[bytes | None]) -> Rows:
        return await self._connections.execute(statement, values)

    def _announce(self, cluster_id: int, version: int, due: bool) -> bool:
        """Announce what a thread has committed; False once this is closed."""
        if self._closed:
            return False
        try:
            self._loop.call_soon_threadsafe(self._announcer.announce, cluster_id, version, due)
        except RuntimeError:
            # the event loop has ended
            return False
        return True

    async def close(self) -> None:
        self._closed = True
        # what a thread has handed over before
        await asyncio.sleep(0)
        await self._announcer.flush()
        await self._connections.close()

    def _group(self, state: AdmissionState) -> group_commit.GroupCommit:
        group = self._groups.get(state.cluster_id)
        if group is None:
            group = group_commit.GroupCommit(self._connections, self._on_commit)
            self._groups[state.cluster_id] = group
        return group

    def _on_commit(self, cluster_id: int, version: int, wakes_loop: bool) -> None:
        self._versions[cluster_id] = version
        self._announcer.announce(cluster_id, version, wakes_loop)

    def _known_user(self, route: Route) -> User | None:
        """The user of a request, if that is remembered and may create the object."""
        known = self._users.get(route.credentials)
        if known is None or time.monotonic() >= known[1] or not _is_known(known[0]):
            return None
        user = known[0].result()
        if not is_remembered(user, route.cluster):
            return None
        role = role_of(user, route.cluster)
        if role is None:
            return None
        permission = (route.credentials, route.access)
        known_user, known_role = self._permitted.get(permission, (None, None))
        if known_user is not user or known_role != role:
            if not decide(identity_with(user, role), route.access).allowed:
                return None
            if len(self._permitted) >= _KEYS_KEPT:
                self._permitted.clear()
            self._permitted[permission] = (user, role)
        return user

    def _known_state(self, cluster: str) -> AdmissionState | None:
        reading = self._states.get(cluster)
        return reading.result() if reading is not None and _is_known(reading) else None

    async def user(self, credentials: str) -> User:
        """The user; Unauthorized for an invalid token, TooManyRequests beyond the user's rate.

        Concurrent requests with the same token share one query.
        """
        known = self._users.get(credentials)
        now = time.monotonic()
        if known is None or now >= known[1]:
            if len(self._users) >= _KEYS_KEPT:
                self._users.clear()
            reading = asyncio.ensure_future(_in_thread(lambda: _authenticate(credentials)))
            known = self._users[credentials] = (reading, now + KEY_SECONDS)
        try:
            user = known[0].result() if _is_known(known[0]) else await asyncio.shield(known[0])
        except Exception:
            if self._users.get(credentials) is known:
                del self._users[credentials]
            raise
        count_request(user.username)
        return user

    async def _state(self, cluster: str) -> AdmissionState:
        """The admission state of a cluster; read once for all who wait for it."""
        reading = self._states.get(cluster)
        if reading is None:
            if len(self._states) >= _STATES_KEPT:
                self._states.clear()
            reading = asyncio.ensure_future(_in_thread(lambda: read_admission_state(cluster)))
            self._states[cluster] = reading
        if _is_known(reading):
            return reading.result()
        try:
            return await asyncio.shield(reading)
        except Exception:
            if self._states.get(cluster) is reading:
                del self._states[cluster]
            raise

    async def _read_again(self, cluster: str, state: AdmissionState) -> AdmissionState:
        """A state that is newer than `state`."""
        self._forget(cluster, state)
        return await self._state(cluster)

    def _forget(self, cluster: str, state: AdmissionState) -> None:
        """Read the state again for the next object, unless that was done already."""
        reading = self._states.get(cluster)
        if reading is not None and reading.done() and reading.result() is state:
            del self._states[cluster]
            self._specs.drop(state)


def _is_known(reading: asyncio.Future[Any]) -> bool:
    return reading.done() and not reading.cancelled() and reading.exception() is None


def _actor(route: Route, user: User, request_id: str) -> Actor:
    return Actor(user.username, request_id, params.manager_of(route.query, route.user_agent))


def _read(route: Route, raw: bytes) -> tuple[dict[str, Any], list[str]]:
    """The object in a body, and the warnings about its fields."""
    resource = route.target.resource
    body, warnings = bodies.read_object(
        raw,
        route.content_type,
        kind=resource.kind.name,
        api_version=resource.api_version,
        definition=resource.definition,
        validation=_check_parameters(route),
    )
    verbs.check_creatable(route.target, body)
    return body, warnings


def _check_parameters(route: Route) -> str:
    """The fieldValidation of a request, whose parameters are valid."""
    if route.query:
        params.check_text(route.query)
    return params.write_options(route.query, "POST").validation


def _is_json(content_type: str) -> bool:
    return content_type in ("application/json", "")


def _authenticate(credentials: str) -> User:
    try:
        user = user_of_authorization(credentials)
    except InvalidCredentials as error:
        raise Unauthorized("Unauthorized") from error
    if user is None:
        # another scheme: who asks is Django's to say
        raise NotSupported
    return user


async def _in_thread(function: Callable[[], T]) -> T:
    """Run what needs Django's connection off the event loop."""

    def run() -> T:
        close_old_connections()
        try:
            return function()
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(None, run)
