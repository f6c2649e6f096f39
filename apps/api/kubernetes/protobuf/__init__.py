"""Kubernetes protobuf: objects in requests and responses, lists, events of watches.

Messages are those of Kubernetes 1.36 (:mod:`schema`). The protobuf library reads and writes them
(:mod:`classes`); :mod:`encoding` and :mod:`decoding` convert from and to objects of JSON, and
:mod:`envelopes` contains what a request needs.
"""
