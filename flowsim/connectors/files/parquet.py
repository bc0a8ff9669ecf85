"""The sink of Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flowsim.connectors.files.part_files import FileSink
from flowsim.connectors.sinks.sink import DeliveryGuarantee

if TYPE_CHECKING:
    from flowsim.connectors.files.parquet_file import ParquetPart

ROW_GROUP_ROWS: Final = 65_536


class ParquetSink(FileSink):
    """Writes each subtask's rows, in order of arrival, to Parquet files in the sink's folder.

    ``fields`` declares names and types (string, int, long, double, boolean) in order. Equal rows give equal bytes with
    the same version of pyarrow. Memory holds one row group.
    """

    kind = "parquet"

    def __init__(
        self,
        directory: str | Path,
        fields: Mapping[str, str],
        row_group_rows: int = ROW_GROUP_ROWS,
        delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    ) -> None:
        super().__init__(directory, fields, delivery)
        self.row_group_rows: int = row_group_rows

    def _open_part(self, path: Path) -> ParquetPart:
        from flowsim.connectors.files.parquet_file import ParquetPart

        return ParquetPart(path, self.columns, self.row_group_rows)
