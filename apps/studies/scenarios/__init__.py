"""Scenarios: what happens in a cluster over time, described in a file and run in memory.

`language` reads a file, `memory` is a cluster without a database (objects, scheduler, controllers,
clock), `running` runs a file on it, `results` presents what happened. docs/scenarios.md describes
scenarios for users, docs/adr/scenarios.md why they are built this way.
"""
