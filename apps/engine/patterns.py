"""Names of pods in filters."""

from __future__ import annotations


def match_pod(text: str) -> dict[str, str]:
    """The conditions on `namespace` and `name`: `web` is a part of a name in any namespace.

    `default/web-1` is this pod; `web-*` matches the beginning of a name, `*-1` its end. They are
    empty where the text says nothing.
    """
    namespace, slash, name = text.rpartition("/")
    if not slash and "*" not in name:
        return {"name__contains": name}
    return {"namespace": namespace, **_match(name)}


def _match(pattern: str) -> dict[str, str]:
    part = pattern.strip("*")
    if pattern.startswith("*"):
        return {"name__contains" if pattern.endswith("*") else "name__endswith": part}
    return {"name__startswith" if pattern.endswith("*") else "name": part}
