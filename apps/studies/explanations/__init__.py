"""Why a pod was scheduled to its node and not to another one, and why a pod is pending.

The API and the pages show the same objects and the same sentences, which come from here and from
`apps.scheduler.explaining`; the figures come from `apps.engine.results`.
docs/explanations.md describes them.
"""
