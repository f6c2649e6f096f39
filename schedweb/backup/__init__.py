"""Backups of a site or of one cluster: one file, written from one snapshot while the site runs.

`archive` is the file, `saving` writes it, `restoring` reads it into a database of its own and
upgrades that, `site` and `cluster` put the result in its place. docs/operations.md describes the
commands.
"""
