"""Explanations: why a node was refused, with its figures, and what would make a pod fit.

They run the plugins on the state of a scheduler and do not change it. The figures of a refusal come
from the plugin (`framework.explanation`). `apps.studies.explanations` imports this package;
the API and pages show the sentences unchanged.
"""
