"""Errors in YAML are shown with their lines."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.cluster.manifests.places import line_of
from apps.cluster.models import Cluster, Pod

TEXT = """\
kind: Pod
metadata:
  labels:
    example.com/team: a
spec:
  containers:
  - name: main
    resources:
      requests:
        cpu: much
---
kind: Node
spec:
  taints: []
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("kind", 1),
        ("metadata.labels[example.com/team]", 4),
        ("spec.containers[0].resources.requests[cpu]", 10),
        ("spec.containers[0].resources.requests.cpu", 10),
        ("spec.containers[0].image", 7),
        ("spec.containers[3].image", 6),
        ("status", None),
    ],
)
def test_a_field_has_its_line_or_that_of_its_nearest_ancestor(path: str, line: int | None) -> None:
    assert line_of(TEXT, path) == line


def test_invalid_yaml_has_no_lines() -> None:
    assert line_of("a: [", "a") is None


POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: fine
spec:
  containers:
  - {name: main, image: example/main:1}
---
apiVersion: v1
kind: Pod
metadata:
  name: wrong
spec:
  containers:
  - name: main
    image: example/main:1
    resources:
      requests:
        cpu: -1
"""


@pytest.mark.django_db
def test_an_error_in_a_later_document_is_marked_and_nothing_is_created(
    alice: Client, empty: Cluster
) -> None:
    response = alice.post("/clusters/bare/new/pods", {"manifest": POD})
    text = response.content.decode()
    assert response.status_code == 422
    assert 'data-wrong="19"' in text
    assert "Line 19: spec.containers[0].resources.requests[cpu]" in text
    assert not Pod.objects.filter(cluster=empty).exists()


@pytest.mark.django_db
def test_invalid_yaml_shows_the_line_of_the_error(alice: Client, empty: Cluster) -> None:
    response = alice.post("/clusters/bare/new/pods", {"manifest": "a: 1\nb: [\nc: 2\n"})
    assert response.status_code == 422
    assert "Line " in response.content.decode()


@pytest.mark.django_db
def test_a_rejected_edit_marks_the_line(alice: Client, empty: Cluster) -> None:
    alice.post("/clusters/bare/new/pods", {"manifest": POD.split("---")[0]})
    address = "/clusters/bare/edit/pods/default/fine"
    page = alice.get(address).context["form"].fields["manifest"].initial
    response = alice.post(address, {"manifest": page.replace("name: main", "name: other")})
    assert response.status_code == 422
    assert "data-wrong=" in response.content.decode()
    broken = alice.post(address, {"manifest": "kind: Pod\nmetadata:\n  name: [\n"})
    assert "Line 4: this is not YAML" in broken.content.decode()
    assert Pod.objects.get(cluster=empty, name="fine")


@pytest.mark.django_db
def test_a_rejected_configuration_marks_the_line(alice: Client, empty: Cluster) -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles:\n- schedulerName: a\n- schedulerName: a\n"
    )
    response = alice.post("/clusters/bare/new-profile", {"configuration": text})
    assert response.status_code == 422
    assert 'data-wrong="5"' in response.content.decode()


@pytest.mark.django_db
def test_yaml_is_uploaded_as_a_file_and_its_errors_are_shown_in_its_text(
    alice: Client, empty: Cluster
) -> None:
    file = SimpleUploadedFile("pods.yaml", POD.encode())
    page = alice.post("/clusters/bare/new/pods", {"manifest": "", "manifest_file": file})
    text = page.content.decode()
    assert page.status_code == 422 and 'data-wrong="19"' in text and "name: wrong" in text
    good = SimpleUploadedFile("pod.yaml", POD.split("---")[0].encode())
    alice.post("/clusters/bare/new/pods", {"manifest": "ignored: [", "manifest_file": good})
    assert Pod.objects.filter(cluster=empty, name="fine").exists()
    binary = SimpleUploadedFile("image.png", b"\x89PNG\xff")
    answer = alice.post("/clusters/bare/new/pods", {"manifest": "", "manifest_file": binary})
    assert "the file image.png is not UTF-8 text" in answer.content.decode()


@pytest.mark.django_db
def test_the_errors_of_all_documents_are_shown_once(alice: Client, empty: Cluster) -> None:
    text = f"{POD.replace('name: fine', 'name: Fine')}---\nkind: Pod\n---\nkind: [\n"
    answer = alice.post("/clusters/bare/import", {"manifest": text})
    assert answer.content.decode().count("this is not YAML") == 1
    text = f"{POD.replace('name: fine', 'name: Fine')}---\nkind: Pod\n"
    page = alice.post("/clusters/bare/import", {"manifest": text}).content.decode()
    for line in (4, 19, 21):
        assert page.count(f"Line {line}: ") == 1, line


@pytest.mark.django_db
def test_a_form_shows_the_errors_of_all_fields(alice: Client, empty: Cluster) -> None:
    typed = {"name": "Web", "copies": "1", "namespace": "default", "cpu": "many"}
    typed |= {"labels": "-a=b", "scheduler_name": "default-scheduler"}
    page = alice.post("/clusters/bare/new-pod", typed).content.decode()
    for field, words in (("name", "RFC 1123"), ("cpu", "quantity"), ("labels", "name part")):
        problem = page[page.index(f'id="id_{field}_error"') :]
        assert words in problem[: problem.index("</div>")], field
    assert not Pod.objects.exists()
