"""How many requests per second a user may send to this process."""

from __future__ import annotations

import threading
import time
from typing import Final

from django.conf import settings

from apps.cluster.errors import TooManyRequests

#: A user may send so many seconds' worth of requests at once.
BURST_SECONDS: Final = 2.0
_KEPT: Final = 10_000
_MESSAGE: Final = "the server has received too many requests and has asked us to try again later"

_lock = threading.Lock()
#: user -> (requests that may be sent at once, when that was so on the monotonic clock)
_left: dict[str, tuple[float, float]] = {}


def count_request(user: str) -> None:
    """Count a request of a user. Raises TooManyRequests beyond the limit of the site."""
    rate = settings.CONFIG.request_rate
    if not rate:
        return
    now, most = time.monotonic(), max(1.0, rate * BURST_SECONDS)
    with _lock:
        if len(_left) >= _KEPT:
            _left.clear()
        left, since = _left.get(user, (most, now))
        left = min(most, left + (now - since) * rate)
        if left >= 1:
            _left[user] = (left - 1, now)
            return
    raise TooManyRequests(_MESSAGE, details={"retryAfterSeconds": 1})
