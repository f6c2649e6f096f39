"""InterPodAffinity: pods that want to be near some pods, or away from them."""
