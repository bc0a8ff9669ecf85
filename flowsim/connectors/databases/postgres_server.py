"""The PostgreSQL server of a sink, and connections to it. Messages never contain its password."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from flowsim.connectors.files.columns import reason_of
from flowsim.errors import BadInput, MissingExtra, SuppressRestarts

if TYPE_CHECKING:
    from psycopg import RawCursor
    from psycopg.rows import TupleRow

CONNECT_SECONDS: Final = 10
"""The longest wait for a connection, unless the URL has ``connect_timeout``."""
LOCK_SECONDS: Final = 10
"""The longest wait for a lock."""
_NETWORK_MS: Final = 30_000
"""A connection has failed if the server does not confirm sent data for this time."""
_SECRETS: Final = ("password", "sslpassword", "oauth_client_secret")
_FORM: Final = "postgresql://USER@HOST:PORT/DATABASE"


_PERMANENT: Final = (
    *("0A", "0L", "0P", "22", "23", "28", "2B", "2F", "38", "39", "3D", "3F", "42", "44", "54", "P0"),
    "55000",
)
"""Beginnings of the SQLSTATEs that the same statement meets again: missing rights, tables or columns, and values.

55000 is a view that takes no rows. Another attempt may succeed after other errors, such as those of the classes 08
(connection), 25 (read-only, as a standby is until its promotion), 40 (rollback), 53 (resources), 55 (locks), 57 (shutdown)
and 58 (system).
"""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A database on a server. ``shown`` is its name in messages: host, port and database."""

    shown: str
    parameters: Mapping[str, str] = field(repr=False)
    """The parameters of libpq, with the secrets of the URL."""

    @staticmethod
    def of(url: str, owner: str) -> PostgresServer:
        """Returns the server of a URL. Raises BadInput, naming ``owner`` but no part of the URL, and MissingExtra."""
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise MissingExtra("postgres", "the postgres sink") from None
        wrong = BadInput(
            f"{owner}: expected the URL of a server, {_FORM}; characters such as / and @ in a user or password are "
            "written as %2F and %40"
        )
        if not url.startswith(("postgresql://", "postgres://")):
            raise wrong
        try:
            parameters = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
        except psycopg.Error:
            raise wrong from None
        host, port, database = (parameters.get(name, "") for name in ("host", "port", "dbname"))
        if "@" in host + database or not all(number.isdecimal() for number in port.split(",") if number):
            raise wrong
        hosts, ports = host.split(","), port.split(",")
        named = zip(hosts, ports if len(ports) == len(hosts) else ports * len(hosts), strict=False)
        shown = ",".join(f"{each}:{port}" if port else each for each, port in named)
        return PostgresServer(f"{shown or 'the default host'}/{database}", parameters)

    def message_of(self, error: Exception) -> str:
        """Returns the first line of an error without the secrets of the URL."""
        text = reason_of(error)
        for secret in filter(None, map(self.parameters.get, _SECRETS)):
            text = text.replace(secret, "***")
        return text


class PostgresConnection:
    """A connection. Every block of ``transaction`` is one transaction; an error of the server is a BadInput."""

    def __init__(self, server: PostgresServer, owner: str) -> None:
        import psycopg
        from psycopg.conninfo import make_conninfo

        self._errors_of_driver = psycopg.Error
        self._server = server
        self.owner = f"{owner} on {server.shown}"
        parameters: dict[str, str | int | None] = {
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "flowsim",
            "tcp_user_timeout": _NETWORK_MS,
            **server.parameters,
            "client_encoding": "utf8",
        }
        with self._errors():
            self._connection = psycopg.connect(make_conninfo("", **parameters), autocommit=True)
        try:
            with self.transaction() as cursor:
                cursor.execute(f"SELECT set_config('lock_timeout', '{LOCK_SECONDS}s', false)")
        except BaseException:
            self._connection.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[RawCursor[TupleRow]]:
        """Runs one transaction; parameters of its statements are ``$1``, ``$2``, ..."""
        from psycopg import RawCursor

        with self._errors(), self._connection.transaction():
            yield RawCursor(self._connection)

    def close(self) -> None:
        """Closes the connection; the server rolls back its transaction and frees its locks."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._errors_of_driver as error:
            state = error.sqlstate or ""
            # The error of the driver may contain the password, so it is no cause.
            permanent = SuppressRestarts(f"SQLSTATE {state}") if state.startswith(_PERMANENT) else None
            raise BadInput(f"{self.owner}: {self._server.message_of(error)}") from permanent
