"""The metrics of every cluster: recorded by the loop, served by the web processes.

The recorder imports `stored`, the API and the site's own page `exposition`.
"""
