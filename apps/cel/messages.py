"""The messages in which the library returns a parsed expression (cel.expr.ParsedExpr)."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

#: message -> its fields, "name number type"; "*" = repeated, "?" = in a oneof with presence
_MESSAGES: Final = {
    "Constant": "null_value 1 ?int32, bool_value 2 ?bool, int64_value 3 ?int64, "
    "uint64_value 4 ?uint64, double_value 5 ?double, string_value 6 ?string, bytes_value 7 ?bytes",
    "Ident": "name 1 string",
    "Select": "operand 1 Expr, field 2 string, test_only 3 bool",
    "Call": "target 1 Expr, function 2 string, args 3 *Expr",
    "CreateList": "elements 1 *Expr, optional_indices 2 *int32",
    "Entry": "id 1 int64, field_key 2 string, map_key 3 Expr, value 4 Expr, optional_entry 5 bool",
    "CreateStruct": "message_name 1 string, entries 2 *Entry",
    "Comprehension": "iter_var 1 string, iter_range 2 Expr, accu_var 3 string, accu_init 4 Expr, "
    "loop_condition 5 Expr, loop_step 6 Expr, result 7 Expr, iter_var2 8 string",
    "Expr": "id 2 int64, const_expr 3 Constant, ident_expr 4 Ident, select_expr 5 Select, "
    "call_expr 6 Call, list_expr 7 CreateList, struct_expr 8 CreateStruct, "
    "comprehension_expr 9 Comprehension",
    "Position": "key 1 int64, value 2 int32",
    "SourceInfo": "positions 4 *Position",
    "ParsedExpr": "expr 2 Expr, source_info 3 SourceInfo",
}
_PACKAGE: Final = "cel.parsed"


def decode_parsed(serialized: bytes) -> Any:
    """The ParsedExpr in an Any message."""
    parsed = _parsed_class()()
    parsed.ParseFromString(AnyMessage.FromString(serialized).value)
    return parsed


@cache
def _parsed_class() -> Any:
    file = FileDescriptorProto(name="cel_parsed.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            field_name, number, kind = text.split(" ")
            added = message.field.add(name=field_name, number=int(number))
            _set_type(added, kind)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ParsedExpr"))


def _set_type(added: FieldDescriptorProto, kind: str) -> None:
    repeated = kind.startswith("*")
    kind = kind.lstrip("*?")
    added.label = (
        FieldDescriptorProto.LABEL_REPEATED if repeated else FieldDescriptorProto.LABEL_OPTIONAL
    )
    if kind in _MESSAGES:
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        added.type_name = f".{_PACKAGE}.{kind}"
    else:
        added.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
