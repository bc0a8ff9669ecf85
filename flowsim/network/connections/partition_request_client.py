"""Messages of an input channel to its sender. Flink: NettyPartitionRequestClient, NettyMessage (rules 6.8, 6.24)."""

from __future__ import annotations

from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.connections.wire import Message, Wire
from flowsim.network.outbox import Outbox


class CreditedChannel(Protocol):
    """An input channel with credits.

    A Protocol, because connections do not import the gates, whose RemoteInputChannel implements it.
    """

    @property
    def channel_id(self) -> int: ...

    def get_and_reset_unannounced_credit(self) -> int: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class PartitionRequestClient:
    """The receiver's side of the connection of two tasks, shared by all their channels (rule 6.15).

    Messages reach ``queue``, the sender's side, at once or over ``wire``. While the receiver's ``outbox`` is sealed,
    the outbox keeps the messages. Flink: NettyPartitionRequestClient.
    """

    __slots__ = ("queue", "_outbox", "_wire")

    def __init__(self, queue: PartitionRequestQueue, outbox: Outbox, wire: Wire | None = None) -> None:
        self.queue = queue
        self._outbox = outbox
        self._wire = wire

    def notify_credit_available(self, channel: CreditedChannel) -> None:
        """Called when ``channel`` has credit to announce (rule 6.8)."""
        if self._outbox.sealed:
            self._outbox.hold_upstream(AddCreditMessage(self, channel))
        else:
            self.send_credit(channel)

    def send_credit(self, channel: CreditedChannel) -> None:
        """Sends a credit message with all credit that accumulates until the message is written (rule 6.8)."""
        # Read when the message is written, not when it was asked for: it carries all credit that has come since (rule 6.8).
        credits = channel.get_and_reset_unannounced_credit()
        if not credits:
            return
        if self._wire is None:
            self.queue.add_credit(channel.channel_id, credits)
        else:
            self._wire.send(AddCredit(self.queue, channel.channel_id, credits))

    def resume_consumption(self, channel: CreditedChannel) -> None:
        """Requests that the sender resumes after an event that blocked ``channel`` (rules 5.27, 6.13)."""
        self._hold_or_send(ResumeConsumption(self, channel.channel_id))

    def notify_new_buffer_size(self, channel: CreditedChannel, size_bytes: int) -> None:
        """Requests buffers of ``size_bytes`` for ``channel`` (rule 6.24)."""
        self._hold_or_send(NewBufferSize(self, channel.channel_id, size_bytes))

    def acknowledge_all_records_processed(self, channel: CreditedChannel) -> None:
        """Called when the consumer has processed all records of ``channel`` (rule 7.12).

        Unlike Flink, no message is sent to a producer that takes no checkpoints.
        """
        if self.queue.awaits_acknowledgement(channel.channel_id):
            self._hold_or_send(AcknowledgeAllDataProcessed(self, channel.channel_id))

    def _hold_or_send(self, message: ClientMessage) -> None:
        if self._outbox.sealed:
            self._outbox.hold_upstream(message)
        else:
            self.send(message)

    def send(self, message: ClientMessage) -> None:
        """Sends ``message`` now."""
        if self._wire is None:
            message.arrive()
        else:
            self._wire.send(message)


class AddCreditMessage:
    """A credit message, sent when the receiver's batch is published. Flink: NettyPartitionRequestClient.AddCreditMessage."""

    __slots__ = ("_client", "_channel")

    def __init__(self, client: PartitionRequestClient, channel: CreditedChannel) -> None:
        self._client = client
        self._channel = channel

    def publish(self) -> None:
        self._client.send_credit(self._channel)


class AddCredit(Message):
    """Credit in flight to the sender. Flink: NettyMessage.AddCredit."""

    __slots__ = ("_queue", "_channel_id", "_credits")

    def __init__(self, queue: PartitionRequestQueue, channel_id: int, credits: int) -> None:
        self._queue = queue
        self._channel_id = channel_id
        self._credits = credits

    def arrive(self) -> None:
        self._queue.add_credit(self._channel_id, self._credits)


class ClientMessage(Message):
    """A channel's message whose content is determined when it is written. Flink: ClientOutboundMessage."""

    __slots__ = ("_client", "_channel_id")

    def __init__(self, client: PartitionRequestClient, channel_id: int) -> None:
        self._client = client
        self._channel_id = channel_id

    def publish(self) -> None:
        """Sends the message, because the receiver's batch has ended."""
        self._client.send(self)


class ResumeConsumption(ClientMessage):
    """Requests that the sender resumes a blocked channel. Flink: NettyMessage.ResumeConsumption."""

    __slots__ = ()

    def __init__(self, client: PartitionRequestClient, channel_id: int) -> None:
        super().__init__(client, channel_id)

    def arrive(self) -> None:
        self._client.queue.resume_consumption(self._channel_id)


class AcknowledgeAllDataProcessed(ClientMessage):
    """Reports that all records were processed. Flink: NettyMessage.AckAllUserRecordsProcessed."""

    __slots__ = ()

    def __init__(self, client: PartitionRequestClient, channel_id: int) -> None:
        super().__init__(client, channel_id)

    def arrive(self) -> None:
        self._client.queue.acknowledge_all_records_processed(self._channel_id)


class NewBufferSize(ClientMessage):
    """Requests buffers of another size. Flink: NettyMessage.NewBufferSize."""

    __slots__ = ("_size_bytes",)

    def __init__(self, client: PartitionRequestClient, channel_id: int, size_bytes: int) -> None:
        super().__init__(client, channel_id)
        self._size_bytes = size_bytes

    def arrive(self) -> None:
        self._client.queue.notify_new_buffer_size(self._channel_id, self._size_bytes)
