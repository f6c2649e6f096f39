"""Scheduling signatures: pods that plugins cannot tell apart share results across cycles.

A plugin that defines ``sign`` promises that its PreFilter, Filter, PreScore, Score and
NormalizeScore depend on the pod only through the value that ``sign`` returns, and that its verdict
and raw score of a node depend on nothing else but that node and the pods on it.

A plugin whose ``sign_reads`` is "domains" looks further: it runs in each cycle and is asked for the
whole snapshot. What it returned in the last cycle it returns again (the same object) if nothing has
changed. Its ``sign`` is called in each cycle, and may depend on more than the pod's spec.

A plugin that looks further may also define ``skips``. True promises that its PreFilter and its
PreScore would return Skip for the pod in this cycle and do nothing else; then neither is called.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from apps.scheduler.framework.node_columns import Reads
from apps.scheduler.framework.node_search import PLAIN, NodeSearch
from apps.scheduler.framework.resources import has_counted_status
from apps.scheduler.framework.reuse.signed_results import SignedResults
from apps.scheduler.framework.types import PodInfo

if TYPE_CHECKING:
    from apps.scheduler.cache.snapshot import Snapshot
    from apps.scheduler.framework.interface import Plugin

#: plugin -> what `sign` returned; plugins that did not sign the pod are left out
Signature = frozenset[tuple[str, Hashable]]

#: pod specs whose signature is stored
_MAX_SPECS: Final = 4096
#: bytes for all results together, and how many of them a row takes in one result
_MAX_BYTES: Final = 128 * 1024 * 1024
_BYTES_PER_ROW: Final = 200
_MIN_RESULTS: Final = 16


@dataclass(frozen=True, slots=True)
class _Spec:
    """What is known for pods with one spec."""

    signature: Signature
    #: see PodInfo.share
    shared: Mapping[str, object]


class Signing:
    """The results of a profile by signature; the least recently used are dropped first."""

    def __init__(self, plugins: Collection[Plugin]) -> None:
        # Not inherited: a subclass that changes a method may read more than its base.
        signing: list[Any] = [each for each in plugins if "sign" in vars(type(each))]
        self._reads: dict[str, Reads] = {
            each.name: getattr(each, "sign_reads", "pods") for each in signing
        }
        self._signing = [each for each in signing if self._reads[each.name] != "domains"]
        self._by_name = {each.name: each for each in self._signing}
        self._looking_further = [each for each in signing if self._reads[each.name] == "domains"]
        skipping: list[Any] = [each for each in plugins if "skips" in vars(type(each))]
        self._skips: dict[str, Callable[[PodInfo], bool]] = {
            each.name: each.skips for each in skipping
        }
        self._specs: dict[bytes, _Spec] = {}
        self._results: OrderedDict[Hashable, SignedResults] = OrderedDict()
        self._encoder = msgspec.msgpack.Encoder()

    def search_for(self, pod: PodInfo, snapshot: Snapshot) -> NodeSearch:
        """What is known for pods like this one; plain for the first of them, and for resized pods.

        Pods that come only once thus cost no columns.
        """
        if not self._signing or has_counted_status(pod.pod):
            return PLAIN
        signature = self._signature(pod)
        signs = [each.sign(pod) for each in self._looking_further]
        key = (signature, *signs)
        results = self._results.get(key)
        if results is None:
            self._results[key] = self._no_results(signature, signs, pod)
            limit = max(_MIN_RESULTS, _MAX_BYTES // (_BYTES_PER_ROW * len(snapshot)))
            while len(self._results) > limit:
                self._results.popitem(last=False)
            return PLAIN
        self._results.move_to_end(key)
        results.begin(pod)
        return results

    def looks_at_rows(self, plugin: str, pod: PodInfo) -> bool:
        """Whether the plugin's answer about a node depends on nothing but the node and its pods."""
        signing = self._by_name.get(plugin)
        return signing is not None and signing.sign(pod) is not None

    def _no_results(
        self, signature: Signature, signs: Sequence[Hashable], pod: PodInfo
    ) -> SignedResults:
        reads = {name: self._reads[name] for name, _ in signature}
        skips = {name: skips for name, skips in self._skips.items() if name not in reads}
        domains, idle = [], []
        for each, sign in zip(self._looking_further, signs, strict=True):
            if each.name not in skips or not skips[each.name](pod):
                domains.append(each.name)
                skips.pop(each.name, None)
            elif sign is not None:
                # Whether it skips depends on nothing but what it signed.
                idle.append(each.name)
                del skips[each.name]
        return SignedResults(reads, domains, skips, idle)

    def _signature(self, pod: PodInfo) -> Signature:
        spec = self._encoder.encode(pod.pod.spec)
        known = self._specs.get(spec)
        if known is None:
            signs = ((each.name, each.sign(pod)) for each in self._signing)
            signature = frozenset((name, sign) for name, sign in signs if sign is not None)
            if len(self._specs) >= _MAX_SPECS:
                self._specs.clear()
            self._specs[spec] = _Spec(signature, pod.share())
            return signature
        pod.take_over(known.shared)
        return known.signature
