"""``jax._src.distributed``: orbax asks whether there is a client of a coordination service."""

__all__ = ["State", "global_state"]


class State:
    """The other processes that a process knows: there are none yet."""

    client = None
    service = None
    preemption_sync_manager = None
    process_id = 0
    num_processes = 1
    coordinator_address = None


global_state = State()
