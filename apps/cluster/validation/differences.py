"""The unified diff of two specs that the API server prints for a rejected update.

The API server prints its internal types: every field, in the order in which the type declares them,
under its Go name. `_LAYOUTS` describes the types that matter for scheduling; members of other types
are printed unchanged.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

Body = Mapping[str, Any]

#: Type → its fields in order. An absent field is printed as "" for a plain name, null for `name?`,
#: 0 for `name#`, false for `name!`. `:Type` is the type of the value or of list items.
_LAYOUTS: Final = {
    "PodSpec": "volumes?:Volume initContainers?:Container containers?:Container "
    "ephemeralContainers? restartPolicy terminationGracePeriodSeconds? activeDeadlineSeconds? "
    "dnsPolicy nodeSelector? serviceAccountName automountServiceAccountToken? nodeName "
    "securityContext?:PodSecurityContext imagePullSecrets?:Named hostname subdomain "
    "setHostnameAsFQDN? affinity?:Affinity schedulerName tolerations?:Toleration hostAliases? "
    "priorityClassName priority? preemptionPolicy? dnsConfig? readinessGates? runtimeClassName? "
    "overhead? enableServiceLinks? topologySpreadConstraints?:TopologySpreadConstraint os?:Named "
    "schedulingGates?:Named resourceClaims?:PodResourceClaim resources?:Resources "
    "hostnameOverride? schedulingGroup?",
    "Container": "name image command? args? workingDir ports?:Port envFrom? env?:Variable "
    "resources:Resources resizePolicy? restartPolicy? restartPolicyRules? volumeMounts?:Mount "
    "volumeDevices? livenessProbe? readinessProbe? startupProbe? lifecycle? "
    "terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext? stdin! "
    "stdinOnce! tty!",
    "Resources": "limits? requests? claims?",
    "Port": "name hostPort# containerPort# protocol hostIP",
    "Variable": "name value valueFrom?",
    "Mount": "name readOnly! recursiveReadOnly? mountPath subPath mountPropagation? subPathExpr",
    "PodSecurityContext": "hostNetwork! hostPID! hostIPC! shareProcessNamespace? hostUsers? "
    "seLinuxOptions? windowsOptions? runAsUser? runAsGroup? runAsNonRoot? supplementalGroups? "
    "supplementalGroupsPolicy? fsGroup? fsGroupChangePolicy? sysctls? seccompProfile? "
    "appArmorProfile? seLinuxChangePolicy?",
    "Named": "name",
    "Affinity": "nodeAffinity?:NodeAffinity podAffinity?:PodAffinity podAntiAffinity?:PodAffinity",
    "NodeAffinity": "requiredDuringSchedulingIgnoredDuringExecution?:NodeSelector "
    "preferredDuringSchedulingIgnoredDuringExecution?:PreferredTerm",
    "NodeSelector": "nodeSelectorTerms?:NodeSelectorTerm",
    "NodeSelectorTerm": "matchExpressions?:Requirement matchFields?:Requirement",
    "PreferredTerm": "weight# preference:NodeSelectorTerm",
    "Requirement": "key operator values?",
    "PodAffinity": "requiredDuringSchedulingIgnoredDuringExecution?:AffinityTerm "
    "preferredDuringSchedulingIgnoredDuringExecution?:WeightedTerm",
    "AffinityTerm": "labelSelector?:LabelSelector namespaces? topologyKey "
    "namespaceSelector?:LabelSelector matchLabelKeys? mismatchLabelKeys?",
    "WeightedTerm": "weight# podAffinityTerm:AffinityTerm",
    "Toleration": "key operator value effect tolerationSeconds?",
    "TopologySpreadConstraint": "maxSkew# topologyKey whenUnsatisfiable "
    "labelSelector?:LabelSelector minDomains? nodeAffinityPolicy? nodeTaintsPolicy? "
    "matchLabelKeys?",
    "PodResourceClaim": "name resourceClaimName? resourceClaimTemplateName?",
    "ClaimSpec": "accessModes? selector?:LabelSelector resources:ClaimResources volumeName "
    "storageClassName? volumeMode? dataSource? dataSourceRef? volumeAttributesClassName?",
    "ClaimResources": "limits? requests?",
    "VolumeSource": "gcePersistentDisk? awsElasticBlockStore? hostPath?:HostPath glusterfs? "
    "nfs?:Nfs rbd? quobyte? iscsi? flexVolume? cinder? cephfs? fc? flocker? azureFile? "
    "vsphereVolume? azureDisk? photonPersistentDisk? portworxVolume? scaleIO? local?:Local "
    "storageos? csi?:Csi",
    "HostPath": "path type?",
    "Nfs": "server path readOnly!",
    "Local": "path fsType?",
    "Csi": "driver volumeHandle readOnly! fsType volumeAttributes? controllerPublishSecretRef? "
    "nodeStageSecretRef? nodePublishSecretRef? controllerExpandSecretRef? nodeExpandSecretRef?",
}
#: Types that are printed under their JSON names.
_AS_GIVEN: Final = frozenset(("LabelSelector",))
_ABSENT: Final = {"?": None, "#": 0, "!": False}
_MAPS: Final = frozenset(("nodeSelector", "overhead", "limits", "requests"))
#: Names whose first word is an abbreviation.
_ABBREVIATED: Final = {
    "dnsPolicy": "DNSPolicy",
    "dnsConfig": "DNSConfig",
    "tty": "TTY",
    "os": "OS",
    "seLinuxOptions": "SELinuxOptions",
    "seLinuxChangePolicy": "SELinuxChangePolicy",
    "fsGroup": "FSGroup",
    "fsType": "FSType",
    "gcePersistentDisk": "GCEPersistentDisk",
    "awsElasticBlockStore": "AWSElasticBlockStore",
    "nfs": "NFS",
    "rbd": "RBD",
    "iscsi": "ISCSI",
    "cephfs": "CephFS",
    "fc": "FC",
    "storageos": "StorageOS",
    "csi": "CSI",
    "fsGroupChangePolicy": "FSGroupChangePolicy",
}
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_ESCAPED: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def pod_spec_difference(old: Body, new: Body) -> str:
    """The difference of two pod specs."""
    return _difference(_with_host_fields(old), _with_host_fields(new), "PodSpec")


def claim_spec_difference(old: Body, new: Body) -> str:
    """The difference of the specs of two PersistentVolumeClaims."""
    return _difference(old, new, "ClaimSpec")


def volume_source_difference(old: Body, new: Body) -> str:
    """The difference of the sources of two PersistentVolumes."""
    return _difference(old, new, "VolumeSource")


def _difference(old: Body, new: Body, layout: str) -> str:
    before, after = (_print_spec(spec, layout).splitlines() for spec in (old, new))
    hunks = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return "".join(f"{line}\n" for line in hunks)


def _with_host_fields(spec: Body) -> Body:
    """Move the host fields into the security context, as in the internal type."""
    shared = {name: spec[name] for name in _HOST_FIELDS if name in spec}
    return {**spec, "securityContext": {**(spec.get("securityContext") or {}), **shared}}


def _print_spec(spec: Body, layout: str) -> str:
    text = json.dumps(_convert(spec, layout), indent=1, ensure_ascii=False)
    return text.translate(_ESCAPED)


def _convert(value: Any, layout: str) -> Any:
    """`value` with all fields of its internal type, in order."""
    if isinstance(value, list):
        return [_convert(item, layout) for item in value]
    if not isinstance(value, Mapping) or layout in _AS_GIVEN:
        return value
    if layout not in _LAYOUTS:
        return {_internal_name(name): _convert(item, "") for name, item in value.items()}
    printed = {}
    for name, kind, absent in _fields(layout):
        given = value.get(name)
        if name in _MAPS and given:
            printed[_internal_name(name)] = dict(sorted(given.items()))
        elif given is None and kind in _LAYOUTS and absent == "":
            printed[_internal_name(name)] = _convert({}, kind)
        else:
            printed[_internal_name(name)] = absent if given is None else _convert(given, kind)
    return printed


@cache
def _fields(layout: str) -> tuple[tuple[str, str, Any], ...]:
    """(name, type, value printed if absent) of each field of a layout."""
    parsed = []
    for word in _LAYOUTS[layout].split():
        marked, _, kind = word.partition(":")
        name = marked.rstrip("?#!")
        parsed.append((name, kind, _ABSENT.get(marked[-1], "")))
    return tuple(parsed)


def _internal_name(name: str) -> str:
    return _ABBREVIATED.get(name) or name[:1].upper() + name[1:]
