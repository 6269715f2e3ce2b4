"""The processes of one launch, and the notes that they leave for each other in its key-value store.

`accelerate launch` and `torchrun` tell every process its rank, how many there are and where the store is; no process
group is opened, so nobody blocks in a collective call and every wait can be ended by a signal.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from longdoc import launched
from longdoc.errors import InterruptedJobError

__all__ = ["Launch"]

_POLL_SECONDS = 0.2
_launches = itertools.count()


class Launch:
    """This process's view of the launch. Every process must make as many of them as the others, in the same order.

    Attributes:
        rank, size: of this process, and how many there are.

    Raises:
        InterruptedJobError: the launcher is gone.
    """

    def __init__(self) -> None:
        from torch.distributed.distributed_c10d import PrefixStore
        from torch.distributed.rendezvous import rendezvous

        limit: dict[str, Any] = {"timeout": launched.LAUNCHER_ANSWERS} if launched.keeps_store() else {}
        store, self.rank, self.size = _unless_lost(lambda: next(rendezvous("env://", **limit)))
        self._store: Any = PrefixStore(f"longdoc/{next(_launches)}", store)

    def tell(self, key: str, value: Any) -> None:
        """Leave a note for everybody; `value` is what JSON can hold."""
        _unless_lost(lambda: self._store.set(key, json.dumps(value)))

    def heard(self, key: str) -> Any:
        """A note that somebody has left, or None."""
        return _unless_lost(lambda: json.loads(self._store.get(key)) if self._store.check([key]) else None)

    def draw(self) -> int:
        """0, 1, 2, ...: each number goes to one process only."""
        return int(_unless_lost(lambda: self._store.add("drawn", 1))) - 1

    def wait_for(self, key: str, stopping: Callable[[], bool], other: str | None = None) -> Any:
        """A note, once it is there; None when a note `other` is there instead.

        Raises:
            InterruptedJobError: asked to stop meanwhile.
        """
        while (value := self.heard(key)) is None:
            if other is not None and self.heard(other) is not None:
                return None
            if stopping():
                raise InterruptedJobError("interrupted while it waited for the process that leads the job.")
            time.sleep(_POLL_SECONDS)
        return value


def _unless_lost(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except RuntimeError as error:  # torch's errors of a lost connection are of this class
        raise InterruptedJobError(
            f"the launch of this process has ended ({type(error).__name__}), so it stops too. Finished parts are "
            "kept: run the same command again."
        ) from None
