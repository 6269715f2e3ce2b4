"""Packages that only some formats need: they come with extras, and whoever lacks one is told which."""

from __future__ import annotations

from importlib.util import find_spec

from longdoc.errors import DocumentError

__all__ = ["need"]


def need(package: str, extra: str) -> None:
    """Raise `DocumentError("unsupported_type")` with the line to run if `package` is not installed."""
    if find_spec(package) is None:
        raise DocumentError(
            "unsupported_type",
            f"Reading this file needs the package {package}, which is not installed. Run: "
            f'pip install "longdoc[{extra}]"',
        )
