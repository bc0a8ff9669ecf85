"""How records become bytes and bytes records. Flink: SerializationSchema, DeserializationSchema, Encoder."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from flowsim.errors import BadInput
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, Types


class SerializationSchema:
    """Turns a record into the bytes of a message. Flink: SerializationSchema."""

    def serialize(self, element: object) -> bytes | None:
        """Returns the bytes; None: the message has none. Raises BadInput for a record of another type."""
        raise NotImplementedError(f"{type(self).__name__} does not serialize")


class DeserializationSchema:
    """Turns the bytes of a message into a record. Flink: DeserializationSchema."""

    @property
    def produced_type(self) -> TypeInformation | None:
        """The declared type of the records; None: the values decide."""
        return None

    def deserialize(self, message: bytes | None) -> object:
        """Returns the record; None: the message is skipped. Raises BadInput for a message that cannot be read."""
        raise NotImplementedError(f"{type(self).__name__} does not deserialize")


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Strings in a character set. Flink: SimpleStringSchema.

    As in Java, bytes that are no text become replacement characters, and characters outside of the set ``?``.
    """

    def __init__(self, charset: str = "UTF-8") -> None:
        self.charset: str = checked_charset(charset, "SimpleStringSchema")

    @property
    def produced_type(self) -> TypeInformation:
        return Types.STRING()

    def serialize(self, element: object) -> bytes:
        if type(element) is not str:
            raise BadInput(
                f"SimpleStringSchema: expected a string, got {element!r:.60}: map the stream to strings, with "
                "output_type=Types.STRING()"
            )
        return element.encode(self.charset, "replace")

    def deserialize(self, message: bytes | None) -> str:
        if message is None:
            raise BadInput("SimpleStringSchema: a message without a value is no string")
        return message.decode(self.charset, "replace")


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are. Flink: ByteArraySchema."""

    @property
    def produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())

    def serialize(self, element: object) -> bytes:
        if type(element) is not bytes:
            raise BadInput(f"ByteArraySchema: expected bytes, got {element!r:.60}")
        return element

    def deserialize(self, message: bytes | None) -> bytes | None:
        return message


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which contains bytes. Flink: RowFieldExtractorSchema."""

    def __init__(self, field_index: int) -> None:
        if type(field_index) is not int or field_index < 0:
            raise ValueError(f"Field index must be non-negative, got: {field_index}")
        self.field_index: int = field_index

    def serialize(self, element: object) -> bytes | None:
        if element is None:
            return None
        if type(element) is not Row or len(element) <= self.field_index:
            raise BadInput(
                f"RowFieldExtractorSchema: expected a Row with field {self.field_index}, got {element!r:.60}"
            )
        value = element[self.field_index]
        if value is not None and type(value) is not bytes:
            raise BadInput(f"RowFieldExtractorSchema: expected bytes in field {self.field_index}, got {value!r:.60}")
        return value


class Encoder:
    """Writes a record into a file of a sink. Flink: Encoder."""

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Writes the text of a record, as ``print`` does, and a line end. Flink: SimpleStringEncoder."""
        return SimpleStringEncoder(charset_name)

    def with_text(self, text: Callable[[object], str]) -> Encoder:
        """Returns an encoder that writes ``text(value)`` where this one writes the text of a value."""
        return self

    def encode(self, element: object) -> bytes:
        """Returns the bytes of a record."""
        raise NotImplementedError(f"{type(self).__name__} does not encode")


class SimpleStringEncoder(Encoder):
    """Flink: SimpleStringEncoder."""

    def __init__(self, charset_name: str = "UTF-8", text: Callable[[object], str] = str) -> None:
        self.charset: str = checked_charset(charset_name, "Encoder.simple_string_encoder")
        self._text = text

    def with_text(self, text: Callable[[object], str]) -> Encoder:
        return SimpleStringEncoder(self.charset, text)

    def encode(self, element: object) -> bytes:
        return f"{self._text(element)}\n".encode(self.charset, "replace")


def checked_charset(charset: str, owner: str) -> str:
    """Returns the character set; raises BadInput if there is none of this name."""
    try:
        codecs.lookup(charset)
    except (LookupError, TypeError):
        raise BadInput(f"{owner}: expected the name of a character set such as UTF-8, got {charset!r:.60}") from None
    return charset
