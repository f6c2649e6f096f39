"""The lab: what would happen if. Simulations and questions about capacity; nothing is written.

`simulate` takes a state of a cluster (`base`), applies changes to it (`changes`), and runs the
scheduler's core in memory until nothing is left to do (`run`). `capacity` asks the same core how
many pods fit, how many nodes are needed, and which nodes could be emptied. docs/lab.md describes
them for users, docs/adr/lab.md why they are built this way.
"""
