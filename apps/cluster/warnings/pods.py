"""Warnings about pods and templates of pods, in the words of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from apps import quantity
from apps.cluster.validation.addresses import network_warnings
from apps.cluster.validation.names import dns_label

Body = Mapping[str, Any]

_LABELS: Final = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
}
#: Annotation -> since when it does nothing, and the field that replaces it.
_ANNOTATIONS: Final = {
    "scheduler.alpha.kubernetes.io/critical-pod": ("v1.16", "priorityClassName"),
    "security.alpha.kubernetes.io/sysctls": ("v1.11", "sysctls"),
    "security.alpha.kubernetes.io/unsafe-sysctls": ("v1.11", "sysctls"),
}
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_NO_SECCOMP: Final = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_OLD_APP_ARMOR: Final = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_BYTES: Final = ("memory", "ephemeral-storage")
_RULES: Final = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
#: Type of a volume -> what the warning calls it, and says of it.
_VOLUMES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "v1.28, non-functional in v1.31+"),
}
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
#: (path, the source that it comes from)
_Placed = tuple[str, str]


def pod_warnings(pod: Body) -> Iterator[str]:
    """The warnings about a new pod."""
    metadata, spec = pod["metadata"], pod["spec"]
    yield from _app_armor_warnings(metadata, spec)
    if why := dns_label(metadata["name"]):
        yield (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{' '.join(why)}]"
        )
    for index, address in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from network_warnings(address, f"spec.dnsConfig.nameservers[{index}]")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from network_warnings(alias.get("ip", ""), f"spec.hostAliases[{index}].ip")
    yield from _warnings(pod, "")


def template_warnings(pod: Body, root: str) -> Iterator[str]:
    """The warnings about a template of pods at this path, which ends with a dot."""
    yield from _warnings(pod, root)


def may_warn_about(metadata: Body) -> bool:
    """Whether a pod with this metadata has warnings, though its spec has none."""
    name, annotations = metadata["name"], metadata.get("annotations") or ()
    return "." in name or len(name) > 63 or any(map(_is_deprecated, annotations))


def name_warnings(name: str) -> Iterator[str]:
    """The warnings about the name of a workload, with which those of its pods begin."""
    if why := dns_label(name):
        yield (
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            f"surprising behavior; a DNS label is recommended: [{' '.join(why)}]"
        )


def label_warning(label: str) -> str:
    """What to say of a deprecated label of nodes; "" for others."""
    if label not in _LABELS:
        return ""
    since, instead = _LABELS[label]
    return f'deprecated since {since}; use "{instead}" instead'


def term_warnings(term: Body, path: str) -> Iterator[str]:
    """The warnings about the expressions of a node selector or label selector."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key", "")
        if text := label_warning(key):
            yield f"{path}.matchExpressions[{index}].key: {key} is {text}"


def volume_type_warnings(source: Body, path: str) -> Iterator[str]:
    """The warnings about volumes of types that are no longer mounted."""
    for kind, (name, since) in _VOLUMES.items():
        if source.get(kind) is not None:
            yield f"{path}.{name}: deprecated in {since}"


def claim_warnings(spec: Body, path: str) -> Iterator[str]:
    """The warnings about the spec of a claim."""
    for part in ("requests", "limits"):
        listed = (spec.get("resources") or {}).get(part)
        yield from _fraction_warnings(listed, f"{path}.resources.{part}", ("storage",))


def _is_deprecated(annotation: str) -> bool:
    return annotation in _ANNOTATIONS or annotation.startswith(
        (_SECCOMP, _SECCOMP_OF_POD, _APP_ARMOR)
    )


def _app_armor_warnings(metadata: Body, spec: Body) -> Iterator[str]:
    """Those of a pod, whose annotations are copied to its fields."""
    annotations = metadata.get("annotations") or {}
    for _, container in _containers(spec):
        key = f"{_APP_ARMOR}{container['name']}"
        if key in annotations:
            yield f"metadata.annotations[{key}]: {_OLD_APP_ARMOR}"


def _warnings(pod: Body, root: str) -> Iterator[str]:
    spec, path = pod.get("spec") or {}, f"{root}spec"
    annotations = (pod.get("metadata") or {}).get("annotations") or {}
    noted = f"{root}metadata.annotations"
    for key in sorted(spec.get("nodeSelector") or {}):
        if text := label_warning(key):
            yield f"{path}.nodeSelector[{key}]: {text}"
    affinity = spec.get("affinity") or {}
    yield from _node_affinity_warnings(affinity.get("nodeAffinity") or {}, path)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        place = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey", "")
        if text := label_warning(key):
            yield f"{place}.topologyKey: {key} is {text}"
        if constraint.get("labelSelector") is None:
            yield f"{place}.labelSelector: {_NO_SELECTOR}"
    for key, (since, instead) in _ANNOTATIONS.items():
        if key in annotations:
            yield f'{noted}[{key}]: non-functional in {since}+; use the "{instead}" field instead'
    yield from _volume_warnings(spec.get("volumes") or (), f"{path}.volumes")
    yield from _repeated_names(spec, path)
    yield from _fraction_warnings(spec.get("overhead"), f"{path}.overhead")
    security = spec.get("securityContext") or {}
    if _SECCOMP_OF_POD in annotations and security.get("seccompProfile") is None:
        yield f"{noted}[{_SECCOMP_OF_POD}]: {_NO_SECCOMP}"
    profiled = security.get("appArmorProfile") is not None
    for place, container in _containers(spec):
        yield from _container_warnings(
            container, f"{path}.{place}", annotations, noted, profiled=profiled
        )
    yield from _port_warnings(spec, path)
    if root and spec.get("terminationGracePeriodSeconds", 0) < 0:
        # a new pod has 1 in its place
        yield (
            f"{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and "
            "will be treated as 1"
        )
    yield from _pod_affinity_warnings(affinity, f"{path}.affinity")
    for volume in spec.get("volumes") or ():
        yield from _overlaps(volume)


def _containers(spec: Body) -> Iterator[tuple[str, Body]]:
    for field in _CONTAINERS:
        for index, container in enumerate(spec.get(field) or ()):
            yield f"{field}[{index}]", container


def _node_affinity_warnings(rules: Body, path: str) -> Iterator[str]:
    place = f"{path}.affinity.nodeAffinity"
    terms = (rules.get(_RULES[0]) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        yield from term_warnings(term, f"{place}.{_RULES[0]}.nodeSelectorTerms[{index}]")
    for index, weighted in enumerate(rules.get(_RULES[1]) or ()):
        preference = weighted.get("preference") or {}
        yield from term_warnings(preference, f"{place}.{_RULES[1]}[{index}].preference")


def _pod_affinity_warnings(affinity: Body, path: str) -> Iterator[str]:
    for name in ("podAffinity", "podAntiAffinity"):
        for rule in _RULES:
            for index, given in enumerate((affinity.get(name) or {}).get(rule) or ()):
                inner = "podAffinityTerm" in given
                term = given["podAffinityTerm"] if inner else given
                if term.get("labelSelector") is None:
                    place = f"{path}.{name}.{rule}[{index}]{'.podAffinityTerm' if inner else ''}"
                    yield f"{place}.labelSelector: {_NO_SELECTOR}"


def _volume_warnings(volumes: Iterable[Body], path: str) -> Iterator[str]:
    for index, volume in enumerate(volumes):
        yield from volume_type_warnings(volume, f"{path}[{index}]")
        template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        place = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
        yield from claim_warnings(template.get("spec") or {}, place)


def _repeated_names(spec: Body, path: str) -> Iterator[str]:
    known: set[str] = set()
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        if alias.get("ip") in known:
            yield f'{path}.hostAliases[{index}].ip: duplicate ip "{alias["ip"]}"'
        known.add(alias.get("ip", ""))
    names = [each.get("name", "") for each in spec.get("imagePullSecrets") or ()]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f'{path}.imagePullSecrets[{index}].name: duplicate name "{name}"'
    for index, name in enumerate(names):
        if not name:
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _container_warnings(
    container: Body, path: str, annotations: Body, noted: str, *, profiled: bool
) -> Iterator[str]:
    """`profiled`: whether an AppArmor profile of the pod applies."""
    security, name = container.get("securityContext") or {}, container.get("name", "")
    key = f"{_SECCOMP}{name}"
    if key in annotations and security.get("seccompProfile") is None:
        yield f"{noted}[{key}]: {_NO_SECCOMP}"
    key = f"{_APP_ARMOR}{name}"
    if key in annotations and not profiled and security.get("appArmorProfile") is None:
        yield f"{noted}[{key}]: {_OLD_APP_ARMOR}"
    resources = container.get("resources") or {}
    for amount in _BYTES:
        for part in ("limits", "requests"):
            place = f"{path}.resources.{part}"
            yield from _fraction_warnings(resources.get(part), place, (amount,))
    known: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, given = variable.get("name", ""), variable.get("value", "")
        own = f"$({name})"
        if name in known and (own not in given or own == given):
            yield (
                f'{path}.env[{index}]: hides previous definition of "{name}", which may be dropped '
                "when using apply"
            )
        known.add(name)


def _fraction_warnings(
    listed: Body | None, path: str, names: Iterable[str] = _BYTES
) -> Iterator[str]:
    for name in names:
        amount = (listed or {}).get(name)
        if amount is not None and quantity.milli(amount) % 1000:
            shown = quantity.canonical(amount)
            yield f'{path}[{name}]: fractional byte value "{shown}" is invalid, must be an integer'


def _port_warnings(spec: Body, path: str) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, str, int]]] = {}
    for place, container in _containers(spec):
        for index, port in enumerate(container.get("ports") or ()):
            at = f"{path}.{place}.ports[{index}]"
            address, host_port = port.get("hostIP", ""), port.get("hostPort", 0)
            protocol = port.get("protocol", "")
            if address and not host_port:
                yield (
                    f"{at}: hostIP set without hostPort: {{Name:{port.get('name', '')} HostPort:0 "
                    f"ContainerPort:{port['containerPort']} Protocol:{protocol} HostIP:{address}}}"
                )
            others = known.setdefault((port["containerPort"], protocol), [])
            for other, other_address, other_port in others:
                how = ""
                if (address, host_port) == (other_address, other_port):
                    how = "duplicate"
                elif not host_port or not other_port:
                    how = "overlapping"
                elif host_port == other_port and (not address or not other_address):
                    how = "dangerously ambiguous"
                if how:
                    yield f"{at}: {how} port definition with {other}"
            others.append((at, address, host_port))


def _overlaps(volume: Body) -> Iterator[str]:
    """The warnings about files of a volume one of which is in the place of another."""
    lead = f'volume "{volume.get("name", "")}"'
    if (source := volume.get("configMap")) is not None:
        lead = f'{lead} (ConfigMap "{source.get("name", "")}")'
        placed = [(path, "") for path in _paths(source)]
    elif (source := volume.get("secret")) is not None:
        lead = f'{lead} (Secret "{source.get("secretName", "")}")'
        placed = [(path, "") for path in _paths(source)]
    elif (source := volume.get("downwardAPI")) is not None:
        lead = f"{lead} (DownwardAPI)"
        placed = [(path, "") for path in _paths(source)]
    elif (source := volume.get("projected")) is not None:
        lead = f"{lead} (Projected)"
        placed = []
        for each in source.get("sources") or ():
            paths = list(_projected_paths(each))
            if not any(part is not None for part in each.values()):
                yield f"{lead} has no sources provided"
            placed += paths
    else:
        return
    for index, (path, origin) in enumerate(placed):
        for other, other_origin in placed[:index]:
            if f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/"):
                yield f'{lead}: overlapping paths: "{path}"{origin} with "{other}"{other_origin}'


def _paths(source: Body) -> list[str]:
    return [item.get("path", "").rstrip("/") for item in source.get("items") or ()]


def _projected_paths(source: Body) -> Iterator[_Placed]:
    for kind, called in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (part := source.get(kind)) is not None:
            origin = f' ({called} "{part.get("name", "")}")'
            yield from ((path, origin) for path in _paths(part))
    if (part := source.get("downwardAPI")) is not None:
        yield from ((path, " (DownwardAPI)") for path in _paths(part))
    if (part := source.get("serviceAccountToken")) is not None:
        yield part.get("path", "").rstrip("/"), " (ServiceAccountToken)"
