"""The pages: for people what `apps.api` is for programs.

Rooms, from the top: views, forms and queries, decision_page; templatetags and the modules beside
them serve templates. Imports cluster and controlplane; only the wiring in schedweb imports it.
"""
