"""Lists and actions as commands: kubectl, curl and Python, from the values that the page uses.

`recipe` describes one command, `rendering` writes it in the three languages, `lists` and `actions`
build the recipes of pages. Views and templatetags import it.
"""
