"""The way of a request for one Kubernetes object: past Django's middleware."""

from __future__ import annotations

from functools import partial

from django.http import HttpResponse

from apps.api import object_requests
from apps.api.creator import NotSupported
from apps.cluster.context import acceptable_request_id
from schedweb.front.asgi import Receive, Scope, Send
from schedweb.front.auditing import record_invalid_token_of, record_refusal_of
from schedweb.front.creation import is_served, send_response
from schedweb.front.threads import WsgiInThreads


class ObjectsInThreads:
    """The ASGI application that answers these requests, and passes all others on to Django."""

    def __init__(self, django: WsgiInThreads) -> None:
        self._django = django

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        served = is_served(headers.get(b"host", b""))
        request = object_requests.request_of(scope, headers) if served else None
        if request is None:
            await self._django(scope, receive, send)
            return
        await self._django.limited(
            scope, receive, send, lambda raw: self._answer(request, headers, scope, raw, send)
        )

    async def _answer(
        self,
        request: object_requests.ObjectRequest,
        headers: dict[bytes, bytes],
        scope: Scope,
        raw: bytes,
        send: Send,
    ) -> None:
        try:
            user = await object_requests.authenticate(request)
        except NotSupported:
            await self._django.answer(scope, raw, send)
            return
        request_id = acceptable_request_id(headers.get(b"x-request-id", b"").decode("latin-1"))
        if isinstance(user, HttpResponse):
            response = user
        elif object_requests.is_plain_get(request):
            response = await object_requests.read(request, user)
        else:
            response = await self._django.run(
                partial(object_requests.respond, request, raw, user, request_id)
            )
        if response.status_code == 403 and not isinstance(user, HttpResponse):
            await self._django.run(partial(record_refusal_of, scope, user, request_id))
        elif response.status_code == 401:
            await self._django.run(partial(record_invalid_token_of, scope, request_id))
        await send_response(send, response, request_id)
