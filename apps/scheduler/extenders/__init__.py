"""HTTP extenders: webhooks that filter, prioritize, preempt and bind in addition to the plugins.

The engine of the control plane and conformance build them; the core knows only the protocol in
`framework.extender`.
"""
