"""The pages of the web UI.

Packages, from the top: views, forms and queries, decision_page; templatetags and the modules
beside them serve templates. Imports any room below; only schedweb imports it.
"""
