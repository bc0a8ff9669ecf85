"""Files of CSV as rows. Flink: CsvReaderFormat. PyFlink: CsvSchema, CsvSchemaBuilder."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from flowsim.connectors.file_system.source import StreamFormat
from flowsim.connectors.files.columns import reason_of
from flowsim.connectors.files.input_file import InputFile
from flowsim.connectors.formats.csv_rows import Dialect, one_char, value_of_cell
from flowsim.connectors.formats.row_types import BITS
from flowsim.errors import BadInput
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind, Types

_BLOCK_ROWS = 1_000
_SCALARS = (*BITS, TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.BIG_DEC, TypeKind.BOOLEAN, TypeKind.STRING)


@dataclass(frozen=True, slots=True)
class CsvSchema:
    """The columns and the characters of a CSV file. PyFlink: CsvSchema."""

    names: tuple[str, ...] = ()
    types: tuple[TypeInformation, ...] = ()
    array_separators: tuple[str | None, ...] = ()
    """Those of the columns; None: that of the file."""
    dialect: Dialect = field(default_factory=Dialect)
    uses_header: bool = False
    is_header_strict: bool = False
    skips_first_row: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Creates a builder."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Returns the number of columns."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def row_type(self) -> TypeInformation:
        """The type of the rows."""
        return Types.ROW_NAMED(list(self.names), list(self.types))

    def row(self, cells: Sequence[str]) -> object:
        """Returns the row of a line. Raises ValueError."""
        if len(cells) > len(self.names):
            raise ValueError(f"Too many entries: expected at most {len(self.names)}, got {len(cells)}")
        if len(cells) < len(self.names):
            raise ValueError(f"Row length mismatch. {len(self.names)} fields expected but was {len(cells)}.")
        return Row.of([self._value(index, cell) for index, cell in enumerate(cells)], self.names)

    def _value(self, index: int, cell: str) -> object:
        declared, separator = self.types[index], self.array_separators[index]
        if declared.kind is not TypeKind.LIST:
            return value_of_cell(declared, cell, self.dialect)
        separator = self.dialect.array_delimiter if separator is None else separator
        items = [cell] if cell and not separator else cell.split(separator) if cell else []
        return [value_of_cell(declared.arguments[0], item, self.dialect) for item in items]

    def check_header(self, cells: Sequence[str]) -> None:
        """Raises ValueError for another header than that of the columns, if it is strict."""
        if self.is_header_strict and tuple(cells) != self.names:
            raise ValueError(f"Mismatched header: expected {', '.join(self.names)}, got {', '.join(cells):.100}")


class CsvSchemaBuilder:
    """Builds a CsvSchema. PyFlink: CsvSchemaBuilder."""

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def build(self) -> CsvSchema:
        return self._schema

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        return self._add(name, Types.STRING())

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: TypeInformation | None = None) -> CsvSchemaBuilder:
        """Adds a column of numbers, by default of 64 bits; ``number_type`` such as ``DataTypes.INT()``."""
        return self._add(name, Types.LONG() if number_type is None else number_type)

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Adds a column of lists."""
        items = _checked(Types.STRING() if element_type is None else element_type, "add_array_column")
        return self._add(name, Types.LIST(items), separator)

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Adds the columns of another schema."""
        for name, declared, separator in zip(schema.names, schema.types, schema.array_separators, strict=True):
            self._add(name, declared, separator)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        return self._with(names=(), types=(), array_separators=())

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Lines that begin with # are skipped."""
        return self._in_dialect(allows_comments=allow)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Lets the column with this index have one item."""
        separators = list(self._schema.array_separators)
        if not 0 <= index < len(separators):
            raise BadInput(f"CsvSchema.remove_array_element_separator: there is no column {index!r:.40}")
        separators[index] = ""
        return self._with(array_separators=tuple(separators))

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Sets the separator of items in columns that have none of their own."""
        return self._in_dialect(array_delimiter=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        return self._in_dialect(delimiter=one_char(char, "CsvSchema.set_column_separator"))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        return self._in_dialect(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        return self._in_dialect(escape=one_char(char, "CsvSchema.set_escape_char"))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Has no effect on reading."""
        return self._in_dialect(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """A field with this text is None."""
        return self._in_dialect(null=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        return self._in_dialect(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        return self._in_dialect(quote=one_char(char, "CsvSchema.set_quote_char"))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        return self._with(skips_first_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """A header must name the columns, in their order."""
        return self._with(is_header_strict=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first line is a header, which is skipped: columns are in the order of the schema."""
        return self._with(uses_header=use)

    def size(self) -> int:
        """Returns the number of columns."""
        return len(self._schema)

    def __len__(self) -> int:
        return len(self._schema)

    def _add(self, name: str, declared: TypeInformation, separator: str | None = None) -> CsvSchemaBuilder:
        schema = self._schema
        if name in schema.names:
            raise BadInput(f"CsvSchema: the column {name!r:.60} is there already")
        if declared.kind is not TypeKind.LIST:
            _checked(declared, "add_number_column")
        return self._with(
            names=(*schema.names, name),
            types=(*schema.types, declared),
            array_separators=(*schema.array_separators, separator),
        )

    def _with(self, **changes: object) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **changes)  # type: ignore[arg-type]
        return self

    def _in_dialect(self, **changes: object) -> CsvSchemaBuilder:
        return self._with(dialect=replace(self._schema.dialect, **changes))  # type: ignore[arg-type]


def _checked(declared: object, method: str) -> TypeInformation:
    if not isinstance(declared, TypeInformation) or declared.kind not in _SCALARS:
        raise BadInput(f"CsvSchema.{method}: expected a type such as DataTypes.INT(), got {declared!s:.60}")
    return declared


class CsvReaderFormat(StreamFormat):
    """Reads rows of CSV. Flink: CsvReaderFormat."""

    def __init__(self, schema: CsvSchema) -> None:
        super().__init__("UTF-8")
        self._schema = schema
        self.produced_type: TypeInformation = schema.row_type

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Reads rows with these columns. Raises BadInput without columns."""
        if not isinstance(schema, CsvSchema) or not schema.names:
            raise BadInput(f"CsvReaderFormat.for_schema: expected a CsvSchema with columns, got {schema!r:.60}")
        return CsvReaderFormat(schema)

    def records_of(self, file: InputFile) -> CsvRowsFile:
        return CsvRowsFile(file, self._schema)


class CsvRowsFile:
    """A file of CSV, whose lines are rows; a quoted cell may have several lines."""

    def __init__(self, file: InputFile, schema: CsvSchema) -> None:
        self.file: InputFile = file
        self.path: str = str(file.path)
        self._schema = schema

    def blocks(self, first_row: int = 0) -> Iterator[Sequence[object]]:
        """Yields blocks of rows, from row ``first_row`` on, counted from 0. Raises BadInput."""
        rows = islice(self._rows(), first_row, None)
        while block := [*islice(rows, _BLOCK_ROWS)]:
            yield block

    def place_of_row(self, row: int) -> str | None:
        """Returns None: a row may have several lines."""
        return None

    def _rows(self) -> Iterator[object]:
        schema, dialect = self._schema, self._schema.dialect
        with self.file.open_text(errors="replace") as text:
            lines = csv.reader(
                _without_comments(text) if dialect.allows_comments else text,
                delimiter=dialect.delimiter,
                quotechar=dialect.quote,
                quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
                escapechar=dialect.escape,
                strict=True,
            )
            try:
                if schema.uses_header:
                    schema.check_header(next(lines, []))
                if schema.skips_first_row:
                    next(lines, None)
                for cells in lines:
                    yield schema.row(cells or [""])
            except (ValueError, csv.Error) as error:
                raise BadInput(f"{self.file.path.name}:{lines.line_num}: {error}") from error
            except OSError as error:
                raise BadInput(f"{self.path}: cannot be read to its end: {reason_of(error)}") from None


def _without_comments(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if not line.startswith("#"))
