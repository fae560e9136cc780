"""Fusions over several devices: the names exist, making one of the objects raises NotImplementedError."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"{what}: this version runs on one device; the multidevice part is missing")


class Communicator:
    """The processes that run a fusion together."""

    @staticmethod
    def instance() -> NoReturn:
        """Raises NotImplementedError."""
        _refuse("Communicator.instance")


class DeviceMesh:
    """The devices that a tensor is spread over."""

    def __init__(self, devices: Any):
        _refuse("DeviceMesh")


class Sharding:
    """How a tensor is spread over a mesh."""

    def __init__(self, *args: Any):
        _refuse("Sharding")


class MultiDeviceExecutorParams:
    """Options of MultiDeviceExecutor."""

    def __init__(self, *args: Any):
        _refuse("MultiDeviceExecutorParams")


class MultiDeviceExecutor:
    """Runs a fusion over several devices."""

    def __init__(self, *args: Any):
        _refuse("MultiDeviceExecutor")


def shard_tensor(tensor: Any, tv: Any) -> NoReturn:
    """The part of `tensor` that this device holds. Raises NotImplementedError."""
    _refuse("shard_tensor")


def execute_with_dtensors(fd: Any, in_dtensors: Any) -> NoReturn:
    """Runs a definition on DTensors. Raises NotImplementedError."""
    _refuse("execute_with_dtensors")
