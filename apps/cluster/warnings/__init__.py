"""Warnings about accepted objects, in the words of kube-apiserver."""
