"""Extract how messages name and print Go types, from the program of a Kubernetes API server.

    python scripts/extract_go_types.py KUBE_APISERVER OUTPUT.json.gz

The program contains the layout of its types, for reflection. Three things of them show in
responses: a message about an object prints its *internal* type, with every field in the order in
which the type declares them; a message about a wrong type names the Go type of the field, and is
about the first field in this order; and some fields are left out when they are empty. OUTPUT has
`internal`: type -> its fields, `fields`: OpenAPI definition -> field -> its Go type, where the
document does not tell it, `omitted`: definition -> the fields that are left out, and `order`:
definition -> its fields.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

#: Kinds of types by number, those that matter here.
KINDS = {1: "bool", 8: "uint8", 17: "array", 20: "interface", 21: "map", 22: "pointer"}
KINDS |= {23: "slice", 24: "string", 25: "struct"}
KINDS |= dict.fromkeys((2, 3, 4, 5, 6, 7, 9, 10, 11), "int") | dict.fromkeys((13, 14), "float")
#: Where the description of a named type continues after what all types of its kind have.
TAILS = {"pointer": 56, "slice": 56, "struct": 80, "interface": 80, "array": 72, "map": 112}
TAILS |= dict.fromkeys(("bool", "int", "uint8", "float", "string"), 48)
INTERNAL = re.compile(
    r"k8s\.io/(?:kubernetes|apiextensions-apiserver|kube-aggregator)/pkg/apis/\w+"
)
VERSIONED = re.compile(r"k8s\.io/api/\w+/v\d+\w*|k8s\.io/\S+/pkg/apis/\w+/v\d+\w*")
#: Types that write their JSON themselves -> what they write when they are empty.
SELF_WRITTEN = {
    "Quantity": '"0"',
    "IntOrString": "0",
    "Time": "null",
    "MicroTime": "null",
    "FieldsV1": "null",
    "RawExtension": "null",
    "Duration": '"0s"',
}


class Field(NamedTuple):
    """A field of a struct, with the address of its type."""

    name: str
    tag: str
    embedded: bool
    type: int


@dataclass
class Type:
    """A Go type; `item` and `key` are the addresses of what a pointer, slice or map contains."""

    name: str
    kind: str
    package: str = ""
    item: int = 0
    key: int = 0
    fields: list[Field] = field(default_factory=list)


class Program:
    """The types of a Go program for 64-bit Linux."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.sections = dict(self._sections())
        module = self.sections[".go.module"]
        #: the address that names and types are counted from
        self.base = self._unpack("<Q", module[1] + 37 * 8)[0]
        self.types: dict[int, Type] = {}
        address, place, size = self.sections[".typelink"]
        waiting = [self.base + each for each in self._unpack(f"<{size // 4}i", place)]
        while waiting:
            one = waiting.pop()
            if one not in self.types:
                self.types[one] = type_ = self._read(one)
                addresses = (*(each.type for each in type_.fields), type_.item, type_.key)
                waiting += [each for each in addresses if each]

    def _sections(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        (start,) = self._unpack("<Q", 0x28)
        size, count, names = self._unpack("<HHH", 0x3A)
        rows = [self._unpack("<IIQQQQ", start + number * size) for number in range(count)]
        for row in rows:
            place = rows[names][4] + row[0]
            name = self.data[place : self.data.index(b"\0", place)].decode()
            yield name, (row[3], row[4], row[5])

    def _unpack(self, form: str, place: int) -> tuple[Any, ...]:
        return struct.unpack_from(form, self.data, place)

    def _place(self, address: int) -> int:
        for start, place, size in self.sections.values():
            if start and start <= address < start + size:
                return address - start + place
        raise ValueError(hex(address))

    def _text(self, place: int) -> tuple[str, int]:
        length = shift = 0
        while True:
            byte = self.data[place]
            place += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return self.data[place : place + length].decode(), place + length

    def _name(self, address: int) -> tuple[str, str, bool]:
        """The name of a field or type, its tag, and whether it is embedded."""
        place = self._place(address)
        name, end = self._text(place + 1)
        tag = self._text(end)[0] if self.data[place] & 2 else ""
        return name, tag, bool(self.data[place] & 8)

    def _read(self, address: int) -> Type:
        place = self._place(address)
        flags, kind = self.data[place + 20], KINDS.get(self.data[place + 23] & 31, "other")
        name = self._name(self.base + self._unpack("<i", place + 40)[0])[0]
        type_ = Type(name[1:] if flags & 2 else name, kind)
        if flags & 1 and flags & 4 and kind in TAILS:
            (package,) = self._unpack("<i", place + TAILS[kind])
            type_.package = self._name(self.base + package)[0]
        if kind in ("pointer", "slice", "map"):
            (type_.item,) = self._unpack("<Q", place + (56 if kind == "map" else 48))
        if kind == "map":
            (type_.key,) = self._unpack("<Q", place + 48)
        if kind == "struct":
            start, count = self._unpack("<QQ", place + 56)
            for number in range(count):
                name_at, type_at = self._unpack("<QQ", self._place(start) + 24 * number)
                type_.fields.append(Field(*self._name(name_at), type_at))
        return type_


class Layouts:
    """The fields of internal types, as they are printed and as objects have them."""

    def __init__(self, program: Program) -> None:
        self.types = program.types
        self.versioned: dict[tuple[str, str], list[Type]] = {}
        for each in self.types.values():
            if VERSIONED.fullmatch(each.package) and each.kind == "struct":
                group = each.package.rsplit("/", 2)[1]
                self.versioned.setdefault((group, _short(each)), []).append(each)

    def internal(self) -> dict[str, list[list[str]]]:
        layouts: dict[str, list[list[str]]] = {}
        for each in self.types.values():
            if INTERNAL.fullmatch(each.package) and each.kind == "struct":
                layouts[each.name] = [list(row) for row in self._rows(each)]
        waiting = {row[2].lstrip("*[]{}") for rows in layouts.values() for row in rows}
        by_name = {
            one.name: one
            for one in self.types.values()
            if one.package.startswith("k8s.io/apimachinery/pkg/apis/meta/v1")
        }
        while waiting:
            name = waiting.pop()
            if name in by_name and name not in layouts:
                layouts[name] = [list(row) for row in self._rows(by_name[name])]
                waiting |= {row[2].lstrip("*[]{}") for row in layouts[name]}
        return dict(sorted(layouts.items()))

    def _rows(self, owner: Type) -> Iterator[tuple[str, ...]]:
        stored = self._stored_names(owner)
        for each in owner.fields:
            tag, options = _tag(each)
            kind = self.types[each.type]
            target = self.types[kind.item] if kind.kind == "pointer" else kind
            if each.embedded and not tag and target.kind == "struct":
                if _short(target) != "TypeMeta":
                    # objects may have as a field what is embedded in the internal type
                    prefix = f"{stored[each.name]}." if stored.get(each.name) else ""
                    for printed, name, *rest in self._rows(target):
                        yield printed, prefix + name, *rest
            elif tag != "-":
                name = stored.get(each.name) or tag or each.name[0].lower() + each.name[1:]
                row = (tag or each.name, name, self._printed(kind))
                yield (*row, "omitempty") if "omitempty" in options else row

    def _stored_names(self, owner: Type) -> dict[str, str]:
        """Field -> its name in objects, from the types of served versions with the same name."""
        group = owner.package.rsplit("/", 1)[-1]
        names: dict[str, str] = {}
        for version in self.versioned.get((group, _short(owner)), ()):
            for each in version.fields:
                names.setdefault(each.name, _tag(each)[0])
        return names

    def _printed(self, kind: Type) -> str:
        """What is printed of an empty value, or the struct that it is, refers to or contains."""
        if kind.kind not in ("pointer", "slice", "map") and _short(kind) in SELF_WRITTEN:
            return SELF_WRITTEN[_short(kind)]
        match kind.kind:
            case "struct":
                return kind.name
            case "pointer" | "slice" | "map":
                item = self.types[kind.item]
                if item.kind != "struct" or _short(item) in SELF_WRITTEN:
                    return "null"
                return {"pointer": "*", "slice": "[]", "map": "{}"}[kind.kind] + item.name
        return {"string": '""', "bool": "false", "interface": "null"}.get(kind.kind, "0")

    def fields(self) -> dict[str, dict[str, str]]:
        """Definition -> field -> its Go type, if that has a name of its own."""
        by_type: dict[str, dict[str, str]] = {}
        for name, kind in self._definitions():
            names = {
                place.rpartition(".")[2]: self._named(row.type)
                for place, row in self._places(kind)
                if self._has_own_name(row.type)
            }
            if names:
                by_type[name] = names
        return dict(sorted(by_type.items()))

    def order(self) -> dict[str, str]:
        """Definition -> its fields as declared, behind the names of embedded types."""
        return {
            name: " ".join(place for place, _ in self._places(kind))
            for name, kind in sorted(self._definitions())
        }

    def _definitions(self) -> Iterator[tuple[str, Type]]:
        for each in self.types.values():
            if VERSIONED.fullmatch(each.package) and each.kind == "struct":
                yield f"{_domain(each.package)}.{_short(each)}", each

    def _places(self, kind: Type) -> Iterator[tuple[str, Field]]:
        """The fields of a type and of those that it embeds."""
        for row in kind.fields:
            tag = _tag(row)[0]
            target = self.types[row.type]
            if row.embedded and not tag and target.kind == "struct":
                for place, inner in self._places(target):
                    yield f"{row.name}.{place}", inner
            elif tag and tag != "-":
                yield tag, row

    def omitted(self) -> dict[str, str]:
        """Definition -> its fields that JSON does not have when they are empty."""
        by_type: dict[str, str] = {}
        for name, kind in self._definitions():
            names = [tag for _, row in self._places(kind) if (tag := self._omitted_name(row))]
            if names:
                by_type[name] = " ".join(names)
        return dict(sorted(by_type.items()))

    def _omitted_name(self, row: Field) -> str:
        tag, options = _tag(row)
        kind = self.types[row.type]
        plain = kind.kind in ("string", "int", "uint8", "float", "bool", "slice", "map")
        return tag if plain and "omitempty" in options else ""

    def _has_own_name(self, address: int) -> bool:
        kind = self.types[address]
        if kind.package and kind.kind not in ("struct", "interface"):
            return True
        parts = () if kind.package else (kind.item, kind.key)
        return any(self._has_own_name(each) for each in parts if each)

    def _named(self, address: int) -> str:
        kind = self.types[address]
        # a pointer is named as what it points to
        return self._named(kind.item) if kind.kind == "pointer" else kind.name


def _short(kind: Type) -> str:
    return kind.name.rpartition(".")[2]


def _tag(each: Field) -> tuple[str, str]:
    """The name in the JSON tag of a field, and the options behind it."""
    match = re.search(r'json:"([^",]*),?([^"]*)"', each.tag)
    return (match[1], match[2]) if match else ("", "")


def _domain(package: str) -> str:
    """The name of a package in OpenAPI definitions."""
    first, _, rest = package.partition("/")
    return ".".join([*reversed(first.split(".")), *rest.split("/")])


def main(source: Path, target: Path) -> None:
    layouts = Layouts(Program(source))
    types = {
        "internal": layouts.internal(),
        "fields": layouts.fields(),
        "omitted": layouts.omitted(),
        "order": layouts.order(),
    }
    text = json.dumps(types, indent=0)
    target.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
