"""A small OpenID Connect provider: discovery, code flow with PKCE, signed ID tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey


@cache
def create_key(number: int = 1) -> RSAKey:
    """One of several keys; it takes a while to create one."""
    return RSAKey.generate_key(2048, {"kid": "one"})


class Provider:
    """What it answers can be changed: `claims` of the next user, `key` of the signature."""

    client = ("schedweb", "a client's secret")

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.claims: dict[str, Any] = {"sub": "42", "preferred_username": "alice"}
        self.key = self.published = create_key()
        self._codes: dict[str, dict[str, str]] = {}

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def authorize(self, query: dict[str, str]) -> str:
        """The address to which the user, who agrees, is sent back."""
        assert query["response_type"] == "code" and query["code_challenge_method"] == "S256"
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any]:
        query = self._codes.pop(form["code"])
        name, _, secret = base64.b64decode(authorization.split()[1]).decode().partition(":")
        assert (name, secret.replace("%27", "'").replace("%20", " ")) == self.client
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == query["code_challenge"]
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": self.client[0],
            "iat": now,
            "exp": now + 60,
            "nonce": query["nonce"],
            **self.claims,
        }
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        return {"access_token": "unused", "token_type": "Bearer", "id_token": signed}


@contextmanager
def running_provider() -> Iterator[Provider]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.provider = Provider(f"http://127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.provider  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        url = urlsplit(self.path)
        if url.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.send_response(302)
            self.send_header("Location", provider.authorize(query))
            self.end_headers()
        elif url.path == "/keys":
            self._send({"keys": [provider.published.as_dict(private=False)]})
        else:
            self._send(provider.metadata())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        self._send(provider.token(form, self.headers["Authorization"]))

    def _send(self, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: Any) -> None:
        pass
