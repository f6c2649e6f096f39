"""NodeResourcesFit and NodeResourcesBalancedAllocation: free resources, and their even use.

The registry imports the two classes; only the legacy scorers import other modules of this package.
"""
