"""Imports of what people have of a cluster: dumps, folders, archives, several files."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.administration.clusters import manifests
from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, limits
from apps.cluster.errors import BadRequest
from apps.cluster.manifests.places import ManifestErrors
from apps.cluster.manifests.text_files import File, Text, read_files
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor

#: `kubectl cluster-info dump` of a cluster with two nodes, a Deployment and a DaemonSet: the folder
#: that it wrote for all namespaces, and what it printed for one.
DATA = Path(__file__).with_name("data")
FOLDER = (DATA / "cluster-info-dump.tar.gz").read_bytes()
PRINTED = (DATA / "cluster-info-dump.txt.gz").read_bytes()
#: what the cluster ran
RAN = {"Node": 2, "Deployment": 1, "ReplicaSet": 1, "DaemonSet": 1, "Pod": 4}


@pytest.fixture
def cluster(db: None) -> Cluster:
    return create_cluster("c1", user="alice")


def put(cluster: Cluster, *files: File) -> Counter[str]:
    """Import files; the number of created objects by kind."""
    imported = manifests.import_texts(cluster, read_files(files), actor=Actor("alice"))
    return Counter(body["kind"] for body in imported.bodies)


def zipped(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def tarred(
    members: dict[str, bytes], change: Callable[[tarfile.TarInfo], None] | None = None
) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if change is not None:
                change(member)
            archive.addfile(member, io.BytesIO(content))
    return target.getvalue()


def unpacked() -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(FOLDER)) as archive:
        files = [each for each in archive if each.isfile()]
        return {each.name.removeprefix("./"): archive.extractfile(each).read() for each in files}  # type: ignore[union-attr]


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **spec},
    }


@pytest.mark.parametrize(
    "content",
    [FOLDER, gzip.decompress(FOLDER), zipped(unpacked()), PRINTED, gzip.decompress(PRINTED)],
    ids=["tar.gz", "tar", "zip", "printed.gz", "printed"],
)
def test_a_dump_of_a_cluster_is_imported_with_its_nodes_and_owners(
    cluster: Cluster, content: bytes
) -> None:
    created = put(cluster, File("dump", content))
    assert {kind: created[kind] for kind in RAN} == RAN
    [found] = kinds.by_name("ReplicaSet").objects(cluster).values_list("uid", flat=True)
    owners = [
        str(body["metadata"]["ownerReferences"][0]["uid"])
        for body in kinds.POD.objects(cluster).values_list("body", flat=True)
    ]
    assert owners.count(str(found)) == 2
    assert all(
        body["spec"]["nodeName"]
        for body in kinds.POD.objects(cluster).values_list("body", flat=True)
    )


def test_a_folder_and_files_are_imported_together_by_the_command(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in unpacked().items():
        (tmp_path / "dump" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "dump" / name).write_bytes(content)
    more = tmp_path / "more.json"
    more.write_text(json.dumps(pod("one")) + "\n" + json.dumps(pod("two")) + "\n")
    call_command("import_objects", "c1", str(tmp_path / "dump"), str(more))
    assert "objects created; added, because objects refer to them" in capsys.readouterr().out
    assert kinds.POD.objects(cluster).count() == RAN["Pod"] + 2
    with pytest.raises(CommandError, match=r"nothing\.yaml cannot be read: No such file"):
        call_command("import_objects", "c1", str(tmp_path / "nothing.yaml"))


def test_lists_of_lists_and_empty_lists_are_unfolded(cluster: Cluster) -> None:
    pods = {"kind": "PodList", "apiVersion": "v1", "items": [pod("a"), pod("b")]}
    empty = {"kind": "NodeList", "apiVersion": "v1", "items": None}
    node = {"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n"}}]}
    whole = {"kind": "List", "apiVersion": "v1", "items": [pods, empty, node]}
    assert put(cluster, File("", json.dumps(whole).encode())) == {"Pod": 2, "Node": 1}


FAULTY = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: Wrong}
  spec:
    containers:
    - name: c
      image: i
      resources: {requests: {cpu: -1}}
- kind: PodList
  apiVersion: v1
  items:
  - metadata: {name: inner}
    spec:
      nodes: 1
---
kind: Podd
apiVersion: v1
---
kind: [
---
kind: Node
"""


def test_every_error_is_found_at_once_with_its_line(cluster: Cluster) -> None:
    lines = [json.dumps(pod("a")), '{"kind": }', json.dumps(pod("B")), '{"a": 1, "a": 2}']
    printed = json.dumps(pod("c"), indent=2) + '\n{\n  "kind": "Pod",\n  "apiVersion" "v1"\n}\n'
    files = [
        File("a.yaml", FAULTY.encode()),
        File("b.json", "\n".join(lines).encode()),
        File("c.json", printed.encode()),
    ]
    before = manifests.export_yaml(cluster)
    with pytest.raises(ManifestErrors) as refused:
        put(cluster, *files)
    found = [error.message for error in refused.value.errors]
    expected = [
        "a.yaml: this is not YAML: yaml: did not find expected node content (line 23)",
        "b.json: this is not JSON: json parse error: invalid character '}'",
        'b.json: this is not YAML: yaml: key "a" already set in map (line 4)',
        "c.json: this is not JSON: json parse error: invalid character",
        "a.yaml: document 1, items[1], items[0], line 17 (Pod): ",
        "a.yaml: document 2, line 19: no kind 'Podd'",
        "a.yaml: document 4, line 24: apiVersion is required",
        "a.yaml: document 1, items[0], line 6 (Pod): ",
        "b.json: document 3, line 3 (Pod): ",
    ]
    for start in expected:
        [_] = [each for each in found if each.startswith(start)]
    assert len(found) == len(expected)
    assert "(line 2)" in next(each for each in found if each.startswith(expected[1]))
    assert "(line 19)" in next(each for each in found if each.startswith(expected[3]))
    assert manifests.export_yaml(cluster) == before


def test_text_that_is_yaml_and_looks_like_json_is_yaml(cluster: Cluster) -> None:
    one = "{apiVersion: v1, kind: Node, metadata: {name: one}}"
    two = '{"apiVersion": "v1", "kind": "Node",\n"metadata": {"name": "two"}}\n---\n' + one
    assert put(cluster, File("", two.encode())) == {"Node": 2}


def test_objects_of_several_files_refer_to_each_other_and_names_are_unique(
    cluster: Cluster,
) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    inside = pod("a")
    inside["metadata"]["namespace"] = "shop"
    files = [File("a", json.dumps(inside).encode()), File("b", json.dumps(space).encode())]
    assert put(cluster, *files) == {"Pod": 1, "Namespace": 1}
    with pytest.raises(BadRequest, match="a: there are two files with this name"):
        put(cluster, files[0], files[0])


def link(member: tarfile.TarInfo) -> None:
    member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0


def forged_size(content: bytes, size: int) -> bytes:
    """A zip whose only member claims another size."""
    at = content.index(b"PK\x01\x02")
    return content[: at + 24] + struct.pack("<I", size) + content[at + 28 :]


HOSTILE = [
    (tarred({"../pods.yaml": b"a"}), "'?../pods.yaml'? is not a name in an archive"),
    (tarred({"/etc/pods.yaml": b"a"}), "/etc/pods.yaml is not a name in an archive"),
    (zipped({"a/../../pods.yaml": b"a"}), "is not a name in an archive"),
    (zipped({"a\x1b[2Jb.yaml": b"a"}), r"\\x1b\[2Jb.yaml' is not a name in an archive"),
    (tarred({"pods.yaml": b""}, link), "pods.yaml is not a plain file"),
    (tarred({"pods.yaml": b"\xff\xfe"}), "pods.yaml: this is not UTF-8"),
    (tarred({"pods.yaml": b"a\0b"}), "pods.yaml: this is not text"),
    (tarred({"pods.yaml": b"a" * 600})[:700], "dump: the archive is damaged"),
    (gzip.compress(b"a" * 600)[:-9], "dump: the archive is damaged"),
    (b"PK\x03\x04" + b"a" * 99, "dump: the archive is damaged"),
    (zipped({f"{n}.yaml": b"" for n in range(9)}), "more than 5 files"),
    (tarred({f"{n}.txt": b"" for n in range(9)}), "more than 5 files"),
    (zipped({"a.yaml": b"a" * 3000}), "the texts have more than 2,000 bytes"),
    (tarred({"a.yaml": b"a" * 1500, "b.yaml": b"b" * 1500}), "b.yaml: the texts have more"),
    (gzip.compress(tarred({"logs.txt": b"a" * 60_000})), "more than 50,000 bytes unpacked"),
    (gzip.compress(b"a" * 60_000), "more than 50,000 bytes unpacked"),
    (forged_size(zipped({"a.yaml": b"a" * 9000}), 10), "damaged|cannot be read"),
]


@pytest.mark.parametrize(("content", "said"), HOSTILE, ids=[each[1] for each in HOSTILE])
def test_a_hostile_archive_is_refused_before_it_is_unpacked(
    content: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("BODY_BYTES", 2000), ("IMPORT_FILES", 5), ("IMPORT_UNPACKED", 50_000)):
        monkeypatch.setattr(limits, name, limits.Limit(name, most))
    with pytest.raises(BadRequest, match=said):
        read_files([File("dump", content)])


def test_logs_and_hidden_files_of_an_archive_are_not_read() -> None:
    members = {"a.yaml": b"a: 1", "x/logs.txt": b"\xff", "._a.yaml": b"\xff", ".git/b.yaml": b"b"}
    assert read_files([File("dump", zipped(members))]) == [Text("a.yaml", "a: 1")]
