"""Replays: a span of a cluster's life again, in memory, under another configuration or seed.

`replaying.replay` is the entrance. As long as every decision is the recorded one, each is made in
the state that it saw (`retracing`). From the first one that differs on, a scheduler of its own
continues on a virtual clock with what was done to the cluster from outside (`continuing`).
"""
