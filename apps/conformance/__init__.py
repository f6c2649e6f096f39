"""Replays recordings of kube-scheduler 1.36 and reports every difference.

The command `conformance` and tests import it; the scheduler itself does not. It may import any
package of the scheduler.
"""
