"""Reads manifests: the objects of texts in YAML and JSON, and the kinds that they have."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.custom.versions import DEFINITION, all_versions
from apps.cluster.documents import UnreadableDocument, parse_json, parse_yaml, parse_yaml_stream
from apps.cluster.errors import Invalid
from apps.cluster.kinds import Kind
from apps.cluster.manifests.places import (
    ManifestError,
    ManifestErrors,
    Part,
    Place,
    from_refusal,
    locate,
)
from apps.cluster.manifests.text_files import Text
from apps.cluster.models import Cluster

Body = dict[str, Any]
#: apiVersion and kind
Type = tuple[str, str]
#: position in the file, object
Document = tuple[Place, Body]
#: position in the file, kind, object
Numbered = tuple[Place, Kind, Body]

#: The apiVersions of the kinds that every cluster has.
_SERVED = frozenset(kind.api_version for kind in kinds.ALL)
#: At most so many errors are reported.
MAX_ERRORS = 100
#: A line that starts an object, in what kubectl writes as JSON.
_OBJECT: Final = re.compile(r"^\{", re.MULTILINE)
#: A line between documents.
_MARKER: Final = re.compile(r"^---(?:\s|$)", re.MULTILINE)
#: The logs of a container, between the objects of `kubectl cluster-info dump`.
_LOGS: Final = re.compile(
    r"^==== START logs for container .* ====\n(?:(?!==== END logs).*\n)*+==== END logs .* ====$",
    re.MULTILINE,
)


def raise_all(errors: Sequence[ManifestError], *, located: bool = True) -> None:
    """Raise a single error as it is, and several as ManifestErrors, each `located` by its line."""
    if not errors:
        return
    shown = errors[:MAX_ERRORS]
    if located:
        locate(shown)
    if len(errors) == 1:
        raise shown[0]
    raise ManifestErrors(shown)


@dataclass(slots=True)
class Manifest:
    """Texts: their objects, an error for each unreadable document, and what is skipped."""

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
        resolved: list[Numbered] = []
        for place, body in documents:
            try:
                kind = _find_kind(place, body, custom)
                if kind is None:
                    self.skipped[_type(body)] += 1
                    continue
                resolved.append((place, kind, _checked(place, kind, body)))
            except ManifestError as error:
                self.errors.append(error)
                if len(self.errors) >= MAX_ERRORS:
                    break
        return resolved


_DEFINITION: Type = DEFINITION.api_version, DEFINITION.name


def read_manifest(*texts: Text) -> Manifest:
    """The objects of texts. Lists are unfolded, those in lists as well.

    A text is a YAML stream, or JSON: an object, one on each line, or what `kubectl cluster-info
    dump` prints.
    """
    manifest = Manifest()
    for name, text in texts:
        for place, document in _read_documents(name, _split(text), manifest.errors):
            try:
                manifest.documents += _unfold(place, document)
            except ManifestError as error:
                manifest.errors.append(error)
            if len(manifest.errors) >= MAX_ERRORS:
                return manifest
    return manifest


def check_texts(texts: Sequence[Text]) -> None:
    """Raise ManifestError or ManifestErrors for texts with unknown kinds or names of fields.

    Values, and objects of CustomResourceDefinitions, are checked when the objects are created.
    """
    manifest = read_manifest(*texts)
    manifest.resolve(manifest.documents, {})
    raise_all(manifest.errors)


def custom_kinds(cluster: Cluster) -> dict[Type, Kind]:
    """The kinds of the CustomResourceDefinitions of a cluster."""
    return {(each.kind.api_version, each.kind.name): each.kind for each in all_versions(cluster)}


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


def _find_kind(place: Place, body: Body, custom: Mapping[Type, Kind]) -> Kind | None:
    """The kind of an object; None for one of an API that is not served."""
    api_version, name = _type(body)
    try:
        return custom.get((api_version, name)) or kinds.by_api_version(api_version, name)
    except KeyError:
        if "/" in api_version and api_version not in _SERVED and body.get("kind"):
            return None
    for required in ("apiVersion", "kind"):
        if not body.get(required):
            raise ManifestError(f"{required} is required", place)
    problem = f"no kind {body.get('kind')!r} is registered for apiVersion {api_version!r}"
    raise ManifestError(problem, place)


def _checked(place: Place, kind: Kind, body: Body) -> Body:
    """The object, if it has metadata and no unknown fields."""
    if not isinstance(body.get("metadata"), dict):
        raise ManifestError("metadata: must be an object", place, kind.name)
    if not kind.definition_name:
        try:
            check_fields(kind, body)
        except Invalid as error:
            raise from_refusal(place, kind.name, error) from error
    return body


def _split(text: str) -> list[Part]:
    """The parts of a text that are read by themselves: JSON objects, or all of a YAML stream."""
    if not text.lstrip().startswith("{"):
        return [Part(text)]
    starts = [match.start() for match in _OBJECT.finditer(text)] or [0]
    parts, line, position = [], 1, 0
    for start, end in pairwise([*starts, len(text)]):
        line += text.count("\n", position, start)
        position = start
        parts.append(Part(_MARKER.sub("", _LOGS.sub("", text[start:end])).rstrip(), line))
    if _MARKER.search(text):
        # documents of YAML, which may be JSON
        is_json = all(_json_error(each.text) is None for each in parts)
    else:
        # a single line may be a mapping of YAML
        lines = all(each.text.endswith("}") and "\n" not in each.text for each in parts)
        is_json = (lines and len(parts) > 1) or _json_error(parts[0].text) is None
    return parts if is_json else [Part(text)]


def _json_error(text: str) -> UnreadableDocument | None:
    try:
        parse_json(text.encode())
    except UnreadableDocument as error:
        return error
    return None


def _read_documents(
    name: str, parts: Sequence[Part], errors: list[ManifestError]
) -> Iterator[tuple[Place, Any]]:
    """The documents of a text, with their places; `errors` gets those that are not readable."""
    if len(parts) > 1:
        for number, part in enumerate(parts, start=1):
            for document in _read_json(name, part, errors):
                yield Place(name, number, part), document
        return
    [whole] = parts
    if whole.text.startswith("{") and _json_error(whole.text) is None:
        for document in _read_json(name, whole, errors):
            yield Place(name, 1, whole), document
        return
    read = 0
    try:
        for document in parse_yaml_stream(whole.text, strict=True):
            read += 1
            yield Place(name, read, whole, read - 1), document
    except UnreadableDocument as error:
        error_count = len(errors)
        for number, part in list(enumerate(_split_yaml(whole.text), start=1))[read:]:
            try:
                for document in parse_yaml_stream(part.text, strict=True):
                    yield Place(name, number, part), document
            except UnreadableDocument as inner:
                errors.append(_unreadable(name, "YAML", part, inner, inner.line))
        if len(errors) == error_count:
            errors.append(_unreadable(name, "YAML", whole, error, error.line))


def _read_json(name: str, part: Part, errors: list[ManifestError]) -> Iterator[Any]:
    """The object in a part; `errors` gets why it is not readable."""
    form, line = "JSON", None
    try:
        document = parse_json(part.text.encode())
        if _repeats_keys(part.text):
            # JSON is YAML, whose reader knows the line
            form = "YAML"
            document = parse_yaml(part.text, strict=True)
        yield document
    except UnreadableDocument as error:
        if form == "JSON":
            line = _line_of_json(part.text)
        errors.append(_unreadable(name, form, part, error, error.line or line))


def _line_of_json(text: str) -> int:
    """The line of the first error."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    except RecursionError:
        pass
    return 1


def _split_yaml(text: str) -> Iterator[Part]:
    """The documents of a YAML stream that cannot be read as a whole."""
    starts = [0, *(match.start() for match in _MARKER.finditer(text))]
    line = 1
    for start, end in pairwise([*starts, len(text)]):
        document = text[start:end]
        if start > 0 or any(
            each.strip() and not each.startswith(("#", "%")) for each in document.split("\n")
        ):
            yield Part(document, line)
        line += document.count("\n")


def _unreadable(
    name: str, form: str, part: Part, error: UnreadableDocument, line: int | None
) -> ManifestError:
    line_in_file = None if line is None else part.line + line - 1
    where = "" if line_in_file is None else f" (line {line_in_file})"
    return ManifestError(
        f"this is not {form}: {error.problem}{where}", file=name, line=line_in_file
    )


def _repeats_keys(text: str) -> bool:
    """Whether an object of a JSON text has a key twice, which a person did not mean."""
    repeated = False

    def check(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len(pairs) != len({key for key, _ in pairs})

    json.loads(text, object_pairs_hook=check)
    return repeated


def _unfold(place: Place, document: Any) -> Iterator[Document]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise ManifestError("must be an object with apiVersion and kind", place)
    name = document.get("kind")
    # Go writes a list without items as null
    items = document.get("items", ()) or []
    if isinstance(name, str) and name.endswith("List") and isinstance(items, list):
        typed = _item_type(name, document)
        for number, item in enumerate(items):
            whole = {**typed, **item} if isinstance(item, dict) else item
            yield from _unfold(replace(place, items=(*place.items, number)), whole)
        return
    yield place, document


def _item_type(name: str, document: Body) -> Body:
    """The type of the items of a typed list, such as a PodList, which do not repeat it."""
    kind = name.removesuffix("List")
    return {"kind": kind, "apiVersion": document.get("apiVersion")} if kind else {}
