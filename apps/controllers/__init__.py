"""The controllers of a cluster: they read its changes and write objects, as users do.

The room also has what they report (`events`), what mock containers use (`usage`), and the objects
that every new cluster starts with (`generating`). `registry` lists the controllers, `manager` runs
them; the engine passes them its lease and the feature gates as functions.

Imports the cluster and the scheduler's vocabulary. The engine, and every room above, may import it.
"""
