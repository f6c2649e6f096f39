"""What is kept of a cycle for the next pod that the plugins cannot tell from this one.

Plugins *sign* a pod: they return what they read of it (``signing``). Pods for which all plugins
return the same have one *signature*, and for each signature of a profile there is one
``SignedResults``. Decisions are the same with and without it. The scheduling cycle knows nothing of
this: ``Framework.search_for`` gives it a ``framework.node_search.NodeSearch``.

What is kept, and what makes it valid:

``signed_answers``   What PreFilter and PreScore returned and wrote into the CycleState. Valid for
                     each pod of the signature: the plugins read nothing but what they signed.
``signed_verdicts``  The verdict of each filter on each row (``filter_columns``), up to the first
                     filter that did not sign. Those of filters that read Node objects alone are
                     valid for one ``Snapshot.node_version``, the others also until a pod on the
                     row changes: ``Snapshot.changes_since`` names these rows (``changed_rows``),
                     and the filters run on them alone. What a filter returned for a row is valid
                     for all rows with the same amounts, if it reads nothing else
                     (``verdicts_by_amounts``). Rows with nominated pods have further verdicts
                     (``nominated_verdicts``), valid until one of these rows changes.
``signed_scores``    The raw score of each plugin for each row (``raw_scores``), valid as verdicts
                     are; normalized scores, totals and the best of the feasible rows
                     (``live_scores``), valid while the feasible rows and the smallest and greatest
                     raw scores are the same (``feasible_rows``).
``verdict_layer``    What a filter that looks at domains returned. It runs in each cycle; the rows
                     on which its verdict changed are entered.

What drops it: another ``node_version`` (a Node object was created, updated or deleted) drops
verdicts and scores; other filters or scorers than in the last cycle (a plugin skips the pod) drop
what was built from them; an exception in a plugin drops what was half updated; and the least
recently used signature is dropped when all of them take more than a fixed number of bytes. Nothing
is kept of plugins that did not sign the pod, for the first pod of a signature, for a pod that is
being resized, and with extenders. Nominated pods are no part of a signature: the rows
that have some are filtered again with them.

Arrays that were handed out are read-only and never change: decisions refer to them.
"""
