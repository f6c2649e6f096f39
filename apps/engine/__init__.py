"""The engine: schedules clusters, and records what it did.

`loop` runs the scheduler of a cluster in a `workers` process. It records decisions (`ledger`,
`results`), the `queue`, `metrics` and `series`, by the configuration in `profiles`. All tables of
the control plane are here, in `models`, under Django's label "controlplane" (docs/adr/rooms.md).

Imports the controllers and what is below them. Studies, administration, the APIs and the pages may
import it; it knows none of them.
"""
