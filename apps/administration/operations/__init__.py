"""Operations: long work that runs in a worker, reports progress and can be cancelled.

    start ──▶ waiting ──▶ running ──▶ succeeded
                 ▲           │  ├───▶ failed (with the cause)
                 └───────────┘  └───▶ cancelled
                 its worker stopped, or the database was unavailable

`service` starts and cancels operations, `running` runs one in a worker, `renewal` renews its lease
meanwhile, `recovery` recovers lost ones. Each kind of operation is one module, listed in
`registry`. It either writes in one transaction (`Progress.transaction`), so that a repetition after
a crash starts from the beginning, or in steps that may be repeated (`drain`).
"""
