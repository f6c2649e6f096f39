"""NodeResourcesFit and NodeResourcesBalancedAllocation: free resources, and their even use.

The registry imports the two classes; legacy_plugins has earlier forms of them, which import other
modules of this package.
"""
