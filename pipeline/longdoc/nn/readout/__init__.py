"""Where the chunks of a document become its answer, one kind a file. `ReadoutConfig` is the only list of kinds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from longdoc.nn.readout.vectors import VectorsReadout, VectorsReadoutConfig

__all__ = ["ReadoutConfig", "ReadoutKind", "VectorsReadout", "VectorsReadoutConfig"]

# A new kind is one file and one name in this line.
ReadoutKind = VectorsReadoutConfig

ReadoutConfig = Annotated[ReadoutKind, Field()]
"""Where the chunks of a document become its answer, by its `kind`. A discriminated union once it has two kinds."""
