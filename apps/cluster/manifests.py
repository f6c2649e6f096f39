"""Reads manifests: the objects of a YAML stream, and the kinds that they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.custom.versions import DEFINITION, all_versions
from apps.cluster.documents import UnreadableDocument, parse_json, parse_yaml_stream
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster

Body = dict[str, Any]
#: apiVersion and kind
Type = tuple[str, str]
#: position in the file, object
Document = tuple[str, Body]
#: position in the file, kind, object
Numbered = tuple[str, Kind, Body]

#: The apiVersions of the kinds that every cluster has.
_SERVED = frozenset(kind.api_version for kind in kinds.ALL)
#: At most so many documents are reported.
MAX_ERRORS = 20


class ManifestError(BadRequest):
    """A document cannot be imported; the message says which one and why."""


class ManifestErrors(BadRequest):
    """Several documents cannot be imported; `errors` has one error for each."""

    def __init__(self, errors: Sequence[ManifestError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        self.errors = errors


def raise_all(errors: Sequence[ManifestError]) -> None:
    """Raise a single error as it is, and several as ManifestErrors."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ManifestErrors(errors[:MAX_ERRORS])


@dataclass(slots=True)
class Manifest:
    """A YAML stream: its objects, an error for each unreadable document, and what is skipped."""

    documents: list[Document] = field(default_factory=list)
    errors: list[ManifestError] = field(default_factory=list)
    #: Number of objects by apiVersion and kind, of APIs that the cluster does not serve.
    skipped: Counter[Type] = field(default_factory=Counter)

    @property
    def definitions(self) -> list[Document]:
        """The CustomResourceDefinitions, which give the other objects their kinds."""
        return [each for each in self.documents if _type(each[1]) == _DEFINITION]

    @property
    def objects(self) -> list[Document]:
        """The documents that are not definitions."""
        return [each for each in self.documents if _type(each[1]) != _DEFINITION]

    def resolve(self, documents: Sequence[Document], custom: Mapping[Type, Kind]) -> list[Numbered]:
        """The objects of served kinds; `errors` and `skipped` get the others.

        An unknown kind of a served apiVersion is an error. Objects of other apiVersions belong to
        extensions of another cluster, and are skipped.
        """
        found: list[Numbered] = []
        for place, body in documents:
            try:
                kind = _find_kind(place, body, custom)
                if kind is None:
                    self.skipped[_type(body)] += 1
                    continue
                found.append((place, kind, _checked(place, kind, body)))
            except ManifestError as error:
                self.errors.append(error)
                if len(self.errors) >= MAX_ERRORS:
                    break
        return found


_DEFINITION: Type = DEFINITION.api_version, DEFINITION.name


def read_manifest(text: str) -> Manifest:
    """The objects of a YAML stream, or of a text with a JSON object on each line.

    Lists are unfolded.
    """
    manifest = Manifest()
    for number, document in enumerate(_read_documents(text), start=1):
        try:
            manifest.documents += _unfold(f"document {number}", document)
        except ManifestError as error:
            manifest.errors.append(error)
            if len(manifest.errors) == MAX_ERRORS:
                break
    return manifest


def check_yaml(text: str) -> None:
    """Raise ManifestError or ManifestErrors for YAML with unknown kinds or names of fields.

    Values, and objects of CustomResourceDefinitions, are checked when the objects are created.
    """
    manifest = read_manifest(text)
    manifest.resolve(manifest.documents, {})
    raise_all(manifest.errors)


def custom_kinds(cluster: Cluster) -> dict[Type, Kind]:
    """The kinds of the CustomResourceDefinitions of a cluster."""
    return {
        (f"{each.kind.group}/{each.version}", each.kind.name): each.kind
        for each in all_versions(cluster)
    }


def describe_skipped(skipped: Mapping[Type, int]) -> str:
    """A sentence about the objects that were not imported; "" if there are none."""
    if not skipped:
        return ""
    total = sum(skipped.values())
    listed = ", ".join(f"{count:,} {version} {name}" for (version, name), count in skipped.items())
    word = "object" if total == 1 else "objects"
    return f"{total:,} {word} skipped, because the cluster does not serve the kind: {listed}"


def _type(body: Body) -> Type:
    return str(body.get("apiVersion")), str(body.get("kind"))


def _find_kind(place: str, body: Body, custom: Mapping[Type, Kind]) -> Kind | None:
    """The kind of an object; None for one of an API that is not served."""
    api_version, name = _type(body)
    try:
        return custom.get((api_version, name)) or kinds.by_api_version(api_version, name)
    except KeyError:
        if "/" in api_version and api_version not in _SERVED and body.get("kind"):
            return None
    for required in ("apiVersion", "kind"):
        if not body.get(required):
            raise ManifestError(f"{place}: {required} is required")
    raise ManifestError(
        f"{place}: no kind {body.get('kind')!r} is registered for apiVersion "
        f"{body.get('apiVersion')!r}"
    )


def _checked(place: str, kind: Kind, body: Body) -> Body:
    """The object, if it has metadata and no unknown fields."""
    if not isinstance(body.get("metadata"), dict):
        raise ManifestError(f"{place} ({kind.name}): metadata: must be an object")
    if not kind.definition_name:
        try:
            check_fields(kind, body)
        except Invalid as error:
            raise ManifestError(f"{place} ({kind.name}): {error.message}") from error
    return body


def _read_documents(text: str) -> Iterator[Any]:
    if lines := _json_lines(text):
        for number, line in lines:
            try:
                yield parse_json(line.encode())
            except UnreadableDocument as error:
                raise ManifestError(f"this is not JSON: {error} (line {number})") from error
        return
    try:
        yield from parse_yaml_stream(text, strict=True)
    except UnreadableDocument as error:
        raise ManifestError(f"this is not YAML: {error}") from error


def _json_lines(text: str) -> list[tuple[int, str]]:
    """The lines of a text with an object on each, and their numbers; empty for other texts."""
    lines = [(number, each) for number, each in enumerate(text.splitlines(), 1) if each.strip()]
    if len(lines) > 1 and all(each[0] == "{" and each.rstrip()[-1] == "}" for _, each in lines):
        return lines
    return []


def _unfold(place: str, document: Any) -> Iterator[Document]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise ManifestError(f"{place}: must be an object with apiVersion and kind")
    name = document.get("kind")
    if isinstance(name, str) and name.endswith("List") and isinstance(document.get("items"), list):
        typed = _item_type(name, document)
        for number, item in enumerate(document["items"]):
            whole = {**typed, **item} if isinstance(item, dict) else item
            yield from _unfold(f"{place}, items[{number}]", whole)
        return
    yield place, document


def _item_type(name: str, document: Body) -> Body:
    """The type of the items of a typed list, such as a PodList, which do not repeat it."""
    kind = name.removesuffix("List")
    return {"kind": kind, "apiVersion": document.get("apiVersion")} if kind else {}
