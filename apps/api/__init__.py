"""The REST edge: views that parse a request, call the rooms below and write the answer.

Rooms: control (/api/v1/) and kubernetes (/k8s/{cluster}/), which do not import each other.
Imports any room below; only the wiring in schedweb imports it.
"""
