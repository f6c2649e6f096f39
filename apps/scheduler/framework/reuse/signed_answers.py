"""What PreFilter and PreScore answered for the pods of one signature, with what they wrote."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apps.scheduler.framework.cycle_state import CycleState, StateData
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.stopwatch import Stopwatch

if TYPE_CHECKING:
    from apps.scheduler.framework.interface import Plugin


@dataclass(frozen=True, slots=True)
class _Replay:
    """The outcome of all plugins of the extension point together."""

    #: the plugins that return Skip
    skips: frozenset[str]
    data: tuple[tuple[str, StateData], ...]
    #: all plugins in their order, each with 0
    times: Mapping[str, int]
    last: str


class SignedAnswers:
    """The outcome of PreFilter or PreScore by plugin, with the cycle data that it wrote.

    ``signed``: the plugins that signed the pod; ``skipping``: others that define ``skips``;
    ``asked``: those that are asked in each cycle.
    """

    def __init__(
        self, signed: Collection[str], skipping: Collection[str], asked: Collection[str] = ()
    ) -> None:
        self._signed = signed
        self._skipping = skipping
        self.asked = asked
        #: these in the order of the extension point
        self._asked_plugins: list[Any] = []
        #: whether all of ``skipping`` skip the pod of this cycle
        self.others_skip = False
        #: plugin -> whether it returned Skip, and its data by key
        self._known: dict[str, tuple[bool, Mapping[str, StateData]]] = {}
        self._replay: _Replay | None = None

    def replay(self, state: CycleState, skipped: set[str], watch: Stopwatch) -> bool:
        """Do to ``state`` what the plugins would do, without ``asked``; False if not known."""
        replay = self._replay
        if replay is None or not self.others_skip:
            return False
        self.restore(state, skipped)
        watch.note_all(replay.times)
        watch.lap(replay.last)
        return True

    def restore(self, state: CycleState, skipped: set[str]) -> None:
        """Do what ``replay`` does to ``state``, which is known to be possible."""
        replay = self._replay
        assert replay is not None
        skipped.update(replay.skips)
        if replay.data:
            state.restore(replay.data)

    def ask(self, call: Callable[[Any], Status], skipped: set[str]) -> bool:
        """Call ``asked``; False if the outcome of one is neither success nor Skip."""
        for plugin in self._asked_plugins:
            status = call(plugin)
            if status.is_skip:
                skipped.add(plugin.name)
            elif not status.is_success:
                return False
        return True

    def spent(self, nanoseconds: int) -> dict[str, int]:
        """Plugin -> nanoseconds of a replay; the last one gets the time."""
        replay = self._replay
        assert replay is not None
        return {**replay.times, replay.last: nanoseconds}

    def is_replay(self, skipped: set[str]) -> bool:
        """Whether a replay skips the same plugins, apart from ``asked``."""
        return self._replay is not None and self._replay.skips == skipped.difference(self.asked)

    def answers_for(self, plugin: str, state: CycleState, skipped: set[str]) -> bool:
        """Do to ``state`` what the plugin would do; False if that is not known."""
        known = self._known.get(plugin)
        if known is None:
            return False
        skips, data = known
        if skips:
            skipped.add(plugin)
        for key, value in data.items():
            state.write(key, value.clone())
        return True

    def add(self, plugin: str, status: Status, written: Mapping[str, StateData]) -> None:
        """Remember the answer of a plugin that signed the pod, if it is success or Skip."""
        if plugin in self._signed and (status.is_success or status.is_skip):
            data = {key: value.clone() for key, value in written.items()}
            self._known[plugin] = (status.is_skip, data)

    def complete(self, plugins: Sequence[Plugin]) -> None:
        """All ``plugins`` of the extension point were asked: from now on they may be replayed."""
        names = [each.name for each in plugins]
        if self._replay is not None or not names:
            return
        replayed = [name for name in names if name not in self.asked]
        if replayed and all(name in self._known or name in self._skipping for name in replayed):
            known = [self._known.get(name, (True, {})) for name in replayed]
            self._asked_plugins = [each for each in plugins if each.name in self.asked]
            self._replay = _Replay(
                frozenset(n for n, (skip, _) in zip(replayed, known, strict=True) if skip),
                tuple(item for _, data in known for item in data.items()),
                dict.fromkeys(names, 0),
                replayed[-1],
            )


#: for pods without a signature
NOTHING_KNOWN: Final = SignedAnswers((), ())
