"""The mock kubelet: simulates nodes and their pods."""
