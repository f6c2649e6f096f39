"""Long work: it runs in a worker, tells how far it is, can be cancelled, survives its worker.

    start ──▶ waiting ──▶ running ──▶ succeeded
                 ▲           │  ├───▶ failed (with the cause)
                 └───────────┘  └───▶ cancelled
                 its worker died

`service` starts and cancels, `running` is what a worker does, `tending` finds what was lost.
The work itself is one module a kind; `registry` names them. Each of them either writes in one
transaction, so that whoever repeats it after a crash begins with nothing, or in steps that may be
repeated (`drain`).
"""
