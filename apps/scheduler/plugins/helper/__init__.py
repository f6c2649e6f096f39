"""Computations that several plugins share: storage, taints, node selectors, texts.

Any plugin, `explaining` and the controllers import them. They import the framework and the
objects, but no plugin.
"""
