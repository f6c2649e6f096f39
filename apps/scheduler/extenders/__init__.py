"""HTTP extenders: webhooks that filter, prioritize, preempt and bind beside the plugins."""
