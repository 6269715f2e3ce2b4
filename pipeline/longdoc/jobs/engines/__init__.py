"""What runs the parts of a job. A new engine is one file and one name in this table."""

from longdoc.jobs.engines.accelerate import AccelerateEngine
from longdoc.jobs.engines.base import Engine
from longdoc.jobs.engines.local import LocalEngine
from longdoc.jobs.engines.ray import RayEngine

__all__ = ["ENGINES"]

ENGINES: dict[str, type[Engine]] = {"local": LocalEngine, "accelerate": AccelerateEngine, "ray": RayEngine}
