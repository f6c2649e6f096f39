"""Message classes of the protobuf library, from descriptors that are built when first used."""

from __future__ import annotations

from functools import cache
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from apps.api.kubernetes.protobuf.schema import SCALARS, Field, messages

_TYPES: Final = {name: FieldDescriptorProto.Type.Value(f"TYPE_{name.upper()}") for name in SCALARS}
_OPTIONAL: Final = FieldDescriptorProto.LABEL_OPTIONAL


@cache
def message_class(name: str) -> type[Message]:
    """The class of a message by its name in :mod:`schema`."""
    return GetMessageClass(_pool().FindMessageTypeByName(_flat(name)))


@cache
def _pool() -> DescriptorPool:
    # proto2, as upstream's: fields have presence
    file = FileDescriptorProto(name="kubernetes.proto", syntax="proto2")
    for name, fields in messages().items():
        _describe(file.message_type.add(name=_flat(name)), fields)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool


def _flat(name: str) -> str:
    """A message's name without a package: one file has the messages of all packages."""
    return name.replace(".", "_")


def _describe(message: DescriptorProto, fields: tuple[Field, ...]) -> None:
    for field in fields:
        added = message.field.add(number=field.number, name=field.name, label=_label(field))
        if field.map:
            entry = message.nested_type.add(name=f"{field.name[0].upper()}{field.name[1:]}Entry")
            entry.options.map_entry = True
            for number, (name, type_) in enumerate((("key", "string"), ("value", field.type)), 1):
                _set_type(entry.field.add(number=number, name=name, label=_OPTIONAL), type_)
            added.type = FieldDescriptorProto.TYPE_MESSAGE
            added.type_name = f".{message.name}.{entry.name}"
        else:
            _set_type(added, field.type)


def _label(field: Field) -> FieldDescriptorProto.Label.ValueType:
    return FieldDescriptorProto.LABEL_REPEATED if field.repeated or field.map else _OPTIONAL


def _set_type(field: FieldDescriptorProto, type_: str) -> None:
    if type_ in SCALARS:
        field.type = _TYPES[type_]
    else:
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{_flat(type_)}"
