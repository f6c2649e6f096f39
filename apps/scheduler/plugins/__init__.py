"""The in-tree plugins, one module or small package each; `registry` lists them in order.

Plugins import the framework, objects, labels and `helper`, not each other. `config` imports none
of them; helpers that work on single objects are used outside the scheduler too.
"""
