"""Why a request to another server failed, in words for its user."""

from __future__ import annotations

import http.client
import socket
import ssl


def describe_failure(error: Exception) -> str:
    """One sentence without a period. `error` is what a connection or a response raised."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"the certificate of the server was not accepted: {error.verify_message}"
        case ssl.SSLError():
            return f"TLS failed: {error.reason or error}"
        case socket.gaierror():
            return f"the host name cannot be resolved: {error.strerror}"
        case TimeoutError():
            return "the server did not respond in time"
        case ConnectionRefusedError():
            return "connection refused: no server listens at this address and port"
        case http.client.RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "the server closed the connection without a response"
        case http.client.HTTPException():
            return f"the response is not valid HTTP: {error}"
        case OSError() if error.strerror:
            return error.strerror[0].lower() + error.strerror[1:]
    return str(error)
