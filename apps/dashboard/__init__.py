"""The pages of the web UI.

Packages, from the top: views, forms and queries, decision_page; templatetags and the modules
beside them serve templates. Imports cluster and controlplane; only schedweb imports it.
"""
