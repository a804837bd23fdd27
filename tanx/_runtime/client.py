"""The client of a platform: the part of JAX's runtime interface that tanx supports."""

from __future__ import annotations

import functools

from .._core.layouts import Layout
from ..errors import explain
from ..version import __version__
from .device import Device, devices_of

__all__ = ["Client", "CompileOptions", "client_of"]


class Client:
    """The devices of one platform, and the programs and arrays on them."""

    runtime_type = "tanx"
    is_c_api = False

    def __init__(self, platform: str):
        self._platform = platform

    @property
    def platform(self) -> str:
        """The name of the platform."""
        return self._platform

    @property
    def platform_version(self) -> str:
        """The compiler and its version."""
        return f"tanx {__version__}"

    def devices(self) -> list[Device]:
        """All devices."""
        return devices_of(self._platform)

    def local_devices(self) -> list[Device]:
        """The devices of this process, which are all."""
        return self.devices()

    def device_count(self) -> int:
        """How many devices there are."""
        return len(self.devices())

    local_device_count = device_count

    def process_index(self) -> int:
        """The number of this process, the only one."""
        return 0

    host_id = task_id = process_index

    def device_from_local_hardware_id(self, local_hardware_id: int) -> Device:
        """The device with a number."""
        return self.devices()[local_hardware_id]

    def live_arrays(self) -> list:
        """The arrays that are alive."""
        return [x for device in self.devices() for x in device.live_buffers()]

    live_buffers = live_arrays

    def defragment(self) -> None:
        """Return unused memory to the system."""
        from .host import give_back  # late: it takes the allocator
        give_back()

    def get_default_layout(self, dtype, shard_shape, device=None) -> Layout:
        """How an array lies in memory: row by row."""
        return Layout(tuple(range(len(shard_shape))), ())

    def _refuse(self, *args, method: str, **kwargs):
        raise NotImplementedError(explain(
            f"tanx.extend.backend.Client.{method}",
            "tanx runs programs of its own compiler, not those of XLA.",
            hint="tanx.jit(f).lower(*args).compile() compiles a function."))

    def __repr__(self) -> str:
        return f"<tanx client of the platform {self._platform!r}>"


for _method in ("compile", "compile_and_load", "compile_and_load_ifrt_program",
                "compile_ifrt_program", "create_hlo_output_callback", "deserialize_executable",
                "dma_map", "dma_unmap", "heap_profile", "live_executables",
                "make_python_callback_from_host_send_and_recv", "serialize_executable",
                "unsafe_client_pointer"):
    setattr(Client, _method, functools.partialmethod(Client._refuse, method=_method))


class CompileOptions:
    """Options by which XLA would compile a program for several devices; plain data here."""

    def __init__(self, num_replicas: int = 1, num_partitions: int = 1, device_assignment=None,
                 env_option_overrides: dict | None = None):
        self.num_replicas, self.num_partitions = num_replicas, num_partitions
        self.device_assignment = device_assignment
        self.env_option_overrides = list((env_option_overrides or {}).items())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"CompileOptions({fields})"


_clients: dict[str, Client] = {}


def client_of(platform: str | None = None) -> Client:
    """The client of a platform, or of the default one: one object for each."""
    name = devices_of(platform)[0].platform
    return _clients.setdefault(name, Client(name))
