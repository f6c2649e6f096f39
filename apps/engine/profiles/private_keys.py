"""The private keys of extenders in configurations: who does not administer a cluster reads none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import yaml

from apps.cluster.access import confidential
from apps.cluster.access.gate import require_role
from apps.cluster.access.grants import AnyUser, role_of
from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.engine.models import ConfigurationRevision

HIDDEN: Final = "(hidden)"
#: The field of an extender's `tlsConfig`.
_FIELD: Final = "keyData"
#: What belongs to a private key and cannot be used without it.
_WITH_KEY: Final = (_FIELD, "certData", "keyFile", "certFile")
#: What a text with such a field has: letters in quotes may be escaped.
_MAY_HAVE_KEY: Final = r"keydata|\\[xu]"


def visible_to(user: AnyUser, cluster_id: int, text: str) -> str:
    """The text of a configuration as a user may read it who sees the cluster."""
    return text if _administers(user, cluster_id) else hide(text)


def require_copying(user: AnyUser, cluster: Cluster) -> None:
    """Forbidden if the owner of a copy would read what is hidden from the user.

    That is Secrets, and the private keys in any revision.
    """
    confidential.require_copying(user, cluster)
    if not _administers(user, cluster.pk):
        revisions = ConfigurationRevision.objects.filter(cluster=cluster)
        if revisions.filter(configuration__iregex=_MAY_HAVE_KEY).exists():
            require_role(user, cluster.pk, cluster.name, Role.ADMIN)


def hide(text: str) -> str:
    """The text with `(hidden)` in place of each private key; one that cannot be read is hidden."""
    if re.search(_MAY_HAVE_KEY, text, re.IGNORECASE) is None:
        return text
    try:
        spans = _spans_of_keys(yaml.compose(text, yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError):
        return f"# {HIDDEN}: no YAML, and it may have a private key\n"
    for start, end in sorted(spans, reverse=True):
        # a block ends after its last line
        line_end = "\n" if text[start:end].endswith("\n") else ""
        text = f'{text[:start]}"{HIDDEN}"{line_end}{text[end:]}'
    return text


def hide_value(value: Any, name: str = "") -> Any:
    """Plain data, the value of a field with this name, with `(hidden)` in place of private keys."""
    if name.rpartition(".")[2] == _FIELD and value:
        return HIDDEN
    if isinstance(value, Mapping):
        return {key: hide_value(each, str(key)) for key, each in value.items()}
    return [hide_value(each) for each in value] if isinstance(value, list) else value


def without_private_keys(text: str) -> str:
    """The text of a configuration without the private keys of extenders."""
    loaded = yaml.safe_load(text)
    extenders = loaded.get("extenders") or [] if isinstance(loaded, dict) else []
    given = [each["tlsConfig"] for each in extenders if each.get("tlsConfig")]
    if not given:
        return text
    for each in given:
        for key in _WITH_KEY:
            each.pop(key, None)
    return yaml.safe_dump(loaded)


def _administers(user: AnyUser, cluster_id: int) -> bool:
    return (role_of(user, cluster_id) or Role.VIEWER) >= Role.ADMIN


def _spans_of_keys(root: yaml.Node | None) -> set[tuple[int, int]]:
    """(start, end) of the values of all fields of that name, each node looked at once."""
    spans: set[tuple[int, int]] = set()
    seen: set[int] = set()
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if str(key.value).lower() == _FIELD.lower():
                    spans.add((value.start_mark.index, value.end_mark.index))
                else:
                    waiting += (key, value)
    return spans
