"""The results of one attempt, refusals and scores, as values and as JSON.

Pure functions over a `Decision` of the core. Every room above, the API and the pages read a
decision through this room; it imports nothing but the core. Words are `explanations`.
"""
