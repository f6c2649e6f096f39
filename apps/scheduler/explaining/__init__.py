"""Explanations: why a node was refused, with its figures, and what would make a pod fit.

They look at a scheduler's state with the plugins themselves and change nothing in it. The figures
behind a refusal come from the plugin (`framework.explanation`). The sentences are shown as they
are, by the API and on pages.
"""
