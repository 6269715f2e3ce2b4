"""`python -m longdoc`, and `accelerate launch -m longdoc`."""

from longdoc.cli import main

if __name__ == "__main__":
    main()
