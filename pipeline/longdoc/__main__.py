"""`longdoc`, `python -m longdoc`, and `accelerate launch -m longdoc`."""

from longdoc.interruption import starting_up

__all__ = ["main"]


def main() -> None:
    """The command line, from the first import on in good order when it is interrupted."""
    with starting_up():
        from longdoc.cli import main as run

        run()


if __name__ == "__main__":
    main()
