"""kube-scheduler 1.36 in plain Python and NumPy, without Django and without a clock of its own.

`scheduler.Scheduler` is the entry. The core imports none of the other apps; the cluster imports its
vocabulary (objects, quantity, labels), the control plane all of it.
"""
