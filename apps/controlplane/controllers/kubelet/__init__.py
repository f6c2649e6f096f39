"""The mock kubelet: what nodes and their pods would do if they were real."""
