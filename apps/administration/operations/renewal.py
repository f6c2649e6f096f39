"""The lease of a running operation: a time that its worker renews, and the number of its attempt.

It belongs to the run, not to the process: if a run ends without recording its outcome, because the
database was unavailable, its worker lives on, but the lease expires.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from django.db import connection

from apps.engine.models import Operation
from apps.engine.workers.renewing import renew_periodically

#: Interval of renewals; `heartbeat.STALE_SECONDS` without one, and another worker takes over.
RENEW_SECONDS = 2.0

_RENEW = """
    UPDATE controlplane_operation SET renewed_at = clock_timestamp()
    WHERE id = %s AND state = 'running' AND attempts = %s RETURNING 1
"""


def keep_renewed(operation: Operation) -> AbstractContextManager[None]:
    """Renew the lease of a claimed operation in a block, also while it reports no progress.

    Until the block ends, or another worker has taken over the operation.
    """

    def renew() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(_RENEW, [operation.pk, operation.attempts])
            return cursor.fetchone() is not None

    return renew_periodically(renew, name=f"operation {operation.pk}", every=RENEW_SECONDS)
