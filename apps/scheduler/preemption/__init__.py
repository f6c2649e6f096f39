"""Preemption: which running pods to evict so that a pod without a feasible node gets one.

The plugin DefaultPreemption imports it; `evaluator` is the entry.
"""
