"""The way of a request for one Kubernetes object: past Django's middleware."""

from __future__ import annotations

from functools import partial

from apps.api import creation, objects
from apps.cluster.context import acceptable_request_id
from schedweb.front.asgi import Receive, Scope, Send
from schedweb.front.bodies import BodyTooLarge, ClientDisconnected, read_body
from schedweb.front.creation import is_served, replay, send_response
from schedweb.front.threads import WsgiInThreads


class ObjectsInThreads:
    """The ASGI application that answers these requests, and passes all others on to Django."""

    def __init__(self, django: WsgiInThreads) -> None:
        self._django = django

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        served = is_served(headers.get(b"host", b""))
        request = objects.request_of(scope, headers) if served else None
        if request is None:
            await self._django(scope, receive, send)
            return
        try:
            raw = await read_body(receive)
        except ClientDisconnected:
            return
        except BodyTooLarge:
            # a content-length that is not true
            await self._django(scope, receive, send)
            return
        try:
            user = await objects.authenticate(request)
        except creation.NotSupported:
            await self._django(scope, replay(raw), send)
            return
        offered = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = acceptable_request_id(offered)
        if not isinstance(user, str):
            response = user
        elif objects.is_plain_get(request):
            response = await objects.read(request)
        else:
            run = partial(objects.respond, request, raw, user, request_id)
            response = await self._django.run(run)
        await send_response(send, response, request_id)
