"""Records enriched through a real HTTP server, by real requests on the real clock."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from flowsim.datastream import AsyncFunction, AsyncRetryStrategy, RuntimeContext
from flowsim.datastream.async_retry_predicates import has_exception_predicate
from tests.support.jobs.coroutines import UNMARKED, failure_of, nothing_left_behind, results_of
from tests.support.jobs.http_server import AirlineServer, closed_port

pytestmark = UNMARKED


@pytest.fixture(autouse=True)
def _nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_left_behind(caplog):
        yield


class Airline(AsyncFunction):
    """Asks a server for the name of each key, all calls of a subtask through one session."""

    def __init__(self, url: str, late: bool = False) -> None:
        self.url = url
        self.late = late

    def open(self, runtime_context: RuntimeContext) -> None:
        self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def async_invoke(self, value: Any) -> list[Any]:
        async with self.session.get(f"{self.url}/{value}") as response:
            response.raise_for_status()
            return [(value, (await response.json())["name"])]

    def timeout(self, value: Any) -> list[Any]:
        return [(value, "late")] if self.late else super().timeout(value)

    async def close(self) -> None:  # type: ignore[override]
        await self.session.close()


def named(keys: range) -> list[tuple[int, str]]:
    return [(key, f"airline {key}") for key in keys]


@pytest.fixture
def sockets() -> Iterator[int]:
    """How many this process may open, which is as many as it is allowed to allow itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10_000 if hard == resource.RLIM_INFINITY else min(10_000, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield max(soft, wanted)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("mode", "capacity"), [("unordered", 2_000), ("ordered", 500)])
def test_concurrent_requests_reach_but_never_exceed_capacity(mode: str, capacity: int, sockets: int) -> None:
    """The server answers when all requests have arrived; a request has a socket at either end."""
    keys, capacity = range(5_000), min(capacity, (sockets - 400) // 2)
    with AirlineServer(together=capacity).running() as server:
        results = results_of(Airline(server.url), keys, mode=mode, capacity=capacity, timeout_ms=0, clock="real")
    assert (results if mode == "ordered" else sorted(results)) == named(keys)  # type: ignore[type-var]
    assert server.requests == dict.fromkeys(keys, 1)
    assert server.most_at_once == capacity


def test_failed_requests_are_retried() -> None:
    """Every seventh key, but for the last: once the input has ended the first outcome is final (rule 11.27)."""
    keys, failing = range(300), frozenset(range(0, 240, 7))
    retry = AsyncRetryStrategy.fixed_delay(3, 10, None, has_exception_predicate)
    with AirlineServer(fails_first=failing).running() as server:
        results = results_of(
            Airline(server.url), keys, mode="ordered", capacity=50, timeout_ms=60_000, strategy=retry, clock="real"
        )
    assert results == named(keys)
    assert server.requests == {key: 2 if key in failing else 1 for key in keys}


def test_slow_request_is_answered_by_timeout() -> None:
    keys, slow = range(40), frozenset((5, 17, 33))
    with AirlineServer(slow=slow).running() as server:
        results = results_of(
            Airline(server.url, late=True), keys, mode="ordered", timeout_ms=1_000, parallelism=1, clock="real"
        )
    assert results == [(key, "late" if key in slow else f"airline {key}") for key in keys]


def test_each_subtask_uses_its_own_session() -> None:
    keys = range(400)
    with AirlineServer(together=60).running() as server:
        results = results_of(Airline(server.url), keys, capacity=20, parallelism=3, timeout_ms=0, clock="real")
    assert sorted(results) == named(keys)  # type: ignore[type-var]
    assert server.most_at_once == 60


def test_refused_connection_fails_job_with_record() -> None:
    failure = failure_of(Airline(f"http://127.0.0.1:{closed_port()}"), [7], clock="real")
    assert failure.startswith("asked, record 7: ElementFailed: could not complete the element: ClientConnectorError: ")


def test_server_error_fails_job_with_record() -> None:
    with AirlineServer(fails_first=frozenset((2,))).running() as server:
        failure = failure_of(Airline(server.url), [2], clock="real")
    assert failure.startswith(
        "asked, record 2: ElementFailed: could not complete the element: ClientResponseError: 500"
    )


def test_request_on_virtual_clock_is_refused() -> None:
    failure = failure_of(Airline("http://127.0.0.1:1"), [1], clock="virtual")
    assert "VirtualClockRefusal: " in failure
    assert "is not available on the virtual clock: processes, sockets and files do not wait for virtual time" in failure
