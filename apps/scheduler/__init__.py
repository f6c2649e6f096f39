"""kube-scheduler 1.36 in plain Python and NumPy, without Django and without a clock of its own.

`scheduler.Scheduler` is the entry. The core imports
`apps.cel` and `apps.quantity` alone; the cluster imports its vocabulary (objects, labels), the
controllers and the engine all of it.
"""
