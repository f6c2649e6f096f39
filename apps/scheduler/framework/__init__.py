"""The scheduling framework: extension points, statuses, cycle state, and what runs the plugins.

`interface` has the Protocols of the extension points. Plugins, preemption, the queue and the
scheduling cycle import it; it imports none of them.
"""
