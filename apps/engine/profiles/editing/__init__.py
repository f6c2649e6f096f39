"""Edits the YAML of a configuration field by field, so that comments and order remain.

`ConfigurationText` sets and removes fields by their paths, which are those of the errors of
`apps.scheduler.config`. `plugin_sets` enables, disables, orders and weights plugins.
"""
