"""Commits batches that only bind pods: one transaction, one round trip, no object is read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from django.db import DataError

from apps.cluster.exchange import Answer, Exchange, exchange
from apps.cluster.models import Cluster
from apps.cluster.prepared import Step, send_together
from apps.cluster.writes import Create
from apps.cluster.writing.placement_statement import FEW, send_placements
from apps.controllers.events.writer import EventWriter
from apps.controllers.kubelet.starting import ImmediateStarts
from apps.controllers.manager import Controllers
from apps.controllers.registry import KUBELET
from apps.engine.ledger.records import DecisionRecord
from apps.engine.ledger.rows import LedgerWriter
from apps.engine.loop.batch_metrics import note_batch
from apps.engine.loop.cluster_state import send_announcing_look
from apps.engine.loop.informer import Informer
from apps.engine.loop.intended_writes import USER, scheduled_event
from apps.engine.loop.placed_statuses import PlacedStatuses
from apps.engine.loop.placing import Placements, is_plain
from apps.engine.metrics import stored
from apps.scheduler.metrics.series import MetricsMark
from apps.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class SentPlacements:
    """A batch whose commit is under way."""

    exchange: Exchange
    #: closes the exchange
    stack: ExitStack
    placements: Placements
    #: the version before the first change
    base: Answer
    #: the state of the cluster after the commit
    look: Answer
    #: the metrics before and after the batch was added
    noted: tuple[MetricsMark, MetricsMark]


class PlacementCommits:
    """Sends batches and waits for their commits; what it cannot do takes the general way."""

    def __init__(
        self,
        cluster: Cluster,
        scheduler: Scheduler,
        informer: Informer,
        controllers: Controllers,
        ledger: LedgerWriter,
        events: EventWriter,
    ) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._informer = informer
        self._controllers = controllers
        self._ledger = ledger
        self._events = events
        #: the version up to which the informer has applied changes, and who admits pods since then
        self._starts: tuple[int, ImmediateStarts | None] = (-1, None)
        self._statuses = PlacedStatuses()

    def find(self, batch: Sequence[DecisionRecord]) -> Placements | None:
        """What a batch that only binds pods writes; None if the batch needs the general way."""
        if not batch or self._cluster.quotas or not all(map(is_plain, batch)):
            return None
        placements = Placements(
            self._informer, self._immediate_starts(), self._cluster.now(), batch, self._statuses
        )
        return placements if placements.find_pods() else None

    def encodes_late(self, batch: Sequence[DecisionRecord]) -> bool:
        """Whether the ledger's rows are encoded while the server binds the pods.

        It would wait for them; a large batch would keep the counter locked for too long.
        """
        return len(batch) <= FEW and self._ledger.can_encode(batch)

    def send(
        self,
        placements: Placements,
        batch: Sequence[DecisionRecord],
        steps: Sequence[Step],
        *,
        late: Sequence[DecisionRecord] = (),
    ) -> SentPlacements | None:
        """Send a batch with other steps; None, and nothing is written, if it cannot be.

        The server executes each statement while the next one is built. `late` are the decisions
        that `steps` do not insert into the ledger.
        """
        with ExitStack() as stack:
            sent = stack.enter_context(exchange())
            sent.begin()
            send_together(sent, steps)
            sent.flush()
            if not placements.add_all(self._new_events(batch)):
                return None
            base = self._send_bindings(sent, placements)
            if late:
                send_together(sent, self._ledger.steps(late))
                sent.flush()
            noted = self._send_metrics(sent, batch)
            sent.commit()
            look = send_announcing_look(sent, self._cluster)
            sent.flush()
            return SentPlacements(sent, stack.pop_all(), placements, base, look, noted)

    def receive(self, sent: SentPlacements) -> bool:
        """Wait for the commit; False if nothing was written.

        The lease was lost then, or a pod has changed: the general way finds out which.
        """
        try:
            with sent.stack:
                sent.exchange.receive()
        except DataError:
            self._scheduler.metrics.take_back(*sent.noted)
            return False
        return True

    def note_committed(self, sent: SentPlacements) -> None:
        """Tell the informer what was written, after `receive`."""
        ((version, _),) = sent.base.rows
        self._informer.note_placements(version, sent.placements.committed(version))

    def _send_bindings(self, sent: Exchange, placements: Placements) -> Answer:
        base = send_placements(
            sent,
            self._cluster,
            placements.all,
            read_version=self._informer.position,
            now=placements.now,
            users=(USER, KUBELET),
        )
        sent.flush()
        return base

    def _send_metrics(
        self, sent: Exchange, batch: Sequence[DecisionRecord]
    ) -> tuple[MetricsMark, MetricsMark]:
        metrics = self._scheduler.metrics
        before = metrics.mark()
        note_batch(self._scheduler, batch)
        noted = before, metrics.mark()
        send_together(sent, [stored.step(self._cluster.pk, metrics)])
        return noted

    def _immediate_starts(self) -> ImmediateStarts | None:
        """The same for all batches until the controllers know the pods of the first one."""
        starts = self._controllers.immediate_starts()
        if starts is None or self._starts[0] != self._informer.position:
            self._starts = self._informer.position, starts
        return self._starts[1]

    def _new_events(self, batch: Sequence[DecisionRecord]) -> list[Create]:
        """The events of these bindings, as far as they are new."""
        self._events.begin()
        events = [write for record in batch for write in scheduled_event(self._events, record)]
        return [write for write in events if isinstance(write, Create)]
