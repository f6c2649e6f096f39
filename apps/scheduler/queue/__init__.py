"""The scheduling queue: which pod is next, and what the others are waiting for.

The scheduler owns a `scheduling_queue.PriorityQueue`; the control plane stores its records.
"""
