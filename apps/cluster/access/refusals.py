"""The one place at which a request is refused because of who sends it."""

from __future__ import annotations

import logging
from typing import NoReturn

from apps.cluster.errors import ApiError

log = logging.getLogger(__name__)


def refuse(user: str, refusal: ApiError) -> NoReturn:
    """Raise the refusal of a request of this user, and log it."""
    log.info("refused a request of %s: %s", user, refusal.message)
    raise refusal
