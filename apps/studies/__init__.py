"""Studies: questions about a cluster, answered from its objects and records.

Why this node (`explanations`), what was (`past`, `history`, `film`, `rebuilding`), what would be
(`lab`, `scenarios`, with `importers` for recordings of other systems), the same again (`replay`,
`debugger`), a decision as a file (`bundles`), and what the students of a class have reached
(`classes`). A study computes in memory and changes no
cluster.

Imports the engine and what is below it. Administration, the APIs and the pages may import it.
"""
