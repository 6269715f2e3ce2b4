"""`longdoc`, `python -m longdoc`, and `accelerate launch -m longdoc`."""

import gc

from longdoc.interruption import starting_up

__all__ = ["main"]

_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Python looks for garbage after 700 new objects. Imports make half a million, and none of it is garbage: a quarter of
a second of four."""


def main() -> None:
    """The command line, from the first import on in good order when it is interrupted."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 10, 10)
    with starting_up():
        from longdoc.cli import main as run

        run()


if __name__ == "__main__":
    main()
