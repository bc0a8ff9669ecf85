"""The protocols of sources and sinks, and PyFlink's connectors, under the name of PyFlink's package."""

from __future__ import annotations

from flowsim.connectors.number_sequence import NumberSequenceSource
from flowsim.connectors.sinks.sink import DeliveryGuarantee, Sink
from flowsim.connectors.source import Source

__all__ = ["DeliveryGuarantee", "NumberSequenceSource", "Sink", "Source"]
