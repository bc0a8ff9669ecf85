"""The types of columns that a CsvSchema can have: some of PyFlink's ``DataTypes``."""

from __future__ import annotations

from flowsim.pyflink.refused_name import RefusedName
from flowsim.values.types import TypeInformation, Types


class ColumnTypes(RefusedName):
    """Has the types of numbers, booleans and text; any other type is of the Table API, and refused."""

    def BOOLEAN(self) -> TypeInformation:
        return Types.BOOLEAN()

    def TINYINT(self) -> TypeInformation:
        return Types.BYTE()

    def SMALLINT(self) -> TypeInformation:
        return Types.SHORT()

    def INT(self) -> TypeInformation:
        return Types.INT()

    def BIGINT(self) -> TypeInformation:
        return Types.LONG()

    def FLOAT(self) -> TypeInformation:
        return Types.FLOAT()

    def DOUBLE(self) -> TypeInformation:
        return Types.DOUBLE()

    def STRING(self) -> TypeInformation:
        return Types.STRING()
