"""Admission plugins that a cluster can enable in addition to the built-in ones.

`Cluster.admission_plugins` maps the names of enabled plugins to their parameters; `registry` lists
all plugins, checks such a mapping, and builds its `EnabledPlugins` from it.
"""
