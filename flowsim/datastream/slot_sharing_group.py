"""Slot sharing groups with resources, which have no effect on a job here. Flink: SlotSharingGroup, MemorySize."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

_MEBI = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class MemorySize:
    """A number of bytes. PyFlink: MemorySize."""

    bytes_size: int

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        return MemorySize(mebi_bytes * _MEBI)

    def get_bytes(self) -> int:
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        return self.bytes_size >> 10

    def get_mebi_bytes(self) -> int:
        return self.bytes_size >> 20

    def get_gibi_bytes(self) -> int:
        return self.bytes_size >> 30

    def get_tebi_bytes(self) -> int:
        return self.bytes_size >> 40


@dataclass(frozen=True, slots=True)
class SlotSharingGroup:
    """The name of a group, and the resources of its slots. PyFlink: SlotSharingGroup.

    >>> group = SlotSharingGroup.builder("heavy").set_cpu_cores(2).set_task_heap_memory_mb(512).build()
    >>> group.get_name(), group.get_task_heap_memory().get_mebi_bytes()
    ('heavy', 512)
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: dict[str, float] = field(default_factory=dict)

    def get_name(self) -> str:
        return self.name

    def get_cpu_cores(self) -> float | None:
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        return dict(self.external_resources)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        return SlotSharingGroup.Builder(SlotSharingGroup(name))

    class Builder:
        """Builds a group. PyFlink: SlotSharingGroup.Builder."""

        def __init__(self, group: SlotSharingGroup) -> None:
            self._group = group

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            self._group = replace(self._group, cpu_cores=cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._group = replace(self._group, task_heap_memory=task_heap_memory)
            return self

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._group = replace(self._group, task_off_heap_memory=task_off_heap_memory)
            return self

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            self._group = replace(self._group, managed_memory=managed_memory)
            return self

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            resources = {**self._group.external_resources, name: value}
            self._group = replace(self._group, external_resources=resources)
            return self

        def build(self) -> SlotSharingGroup:
            return self._group
