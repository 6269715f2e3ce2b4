"""Writing a folder so that a reader sees a whole one or none."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from safetensors import SafetensorError

from longdoc.errors import CannotWriteError
from longdoc.files import cannot_write

__all__ = ["write_folder"]


def write_folder(folder: Path, fill: Callable[[Path], None], last: Sequence[str]) -> None:
    """Fill a hidden folder beside `folder`, bring it to the disk, and rename it into place.

    Where `folder` is there already, its other files stay, and ours are replaced one by one: those named in `last` are
    removed first and come last, so that a folder cut short lacks them and no reader takes it for whole.

    Args:
        folder: the target.
        fill: writes the files into the folder that it is given.
        last: names of the files without which readers refuse the folder.

    Raises:
        CannotWriteError: no space, no permission, or a failing disk.
    """
    folder = folder.absolute()
    temporary = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:12]}.tmp"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        fill(temporary)
        names = sorted(path.name for path in temporary.iterdir())
        for name in names:
            _sync(temporary / name)
        _sync(temporary)
        if folder.exists():
            for name in last:
                (folder / name).unlink(missing_ok=True)
            _sync(folder)
            for name in sorted(names, key=lambda name: (name in last, name)):
                (temporary / name).replace(folder / name)
            _sync(folder)
        else:
            temporary.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        raise cannot_write(folder, error) from None
    except SafetensorError:  # the library's own error for a disk that is full
        raise CannotWriteError(f"cannot write the weights of {folder}. Make room or choose another output.") from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(temporary)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
