"""Bundles: one file with everything that a recorded decision depended on.

`building.build_bundle` writes the file from a row of the ledger and the state that its decision
saw, `opening.open_bundle` reads it in any installation, without the database, and
`OpenedBundle.verify` decides again and compares. docs/lab.md describes bundles for users,
docs/adr/lab.md their layout.
"""
