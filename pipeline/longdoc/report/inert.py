"""Pages that fetch nothing and run nothing but what is ours: what all reports rest on.

Texts, ids and label names are hostile until proven otherwise. They are escaped where they stand (autoescape), and a
content security policy forbids the page everything but its own style sheet and script, each named by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

__all__ = ["inert_page", "shown"]

_NOT_IN_HTML = re.compile("[\0\ud800-\udfff]")


def inert_page(template: str, styles: Sequence[str], scripts: Sequence[str] = (), **values: Any) -> str:
    """A complete HTML document, to be written as UTF-8.

    Args:
        template: its file in `templates/`.
        styles: style sheets there, one after the other.
        scripts: scripts there, likewise; without any the page may run none.
        values: of the template; `style`, `script` and `policy` are added.
    """
    style, script = ("\n".join(_file(name) for name in names) for names in (styles, scripts))
    allowed = f"style-src {_hash(style)}" + (f"; script-src {_hash(script)}" if script else "")
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    # Both are ours, from the package, and the policy's hashes are over these very characters.
    ours = {"style": Markup(style), "script": Markup(script)}
    return _environment().get_template(template).render(policy=policy, **ours, **values)


def shown(text: str) -> Markup:
    """Escaped so that a browser's text is this one: a parser would turn carriage returns into line feeds.

    What cannot stand in HTML, NUL and lone surrogates, is shown as U+FFFD.
    """
    return escape(_NOT_IN_HTML.sub("\ufffd", text)).replace("\r", Markup("&#13;"))


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("longdoc.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = shown
    return environment


@cache
def _file(name: str) -> str:
    return resources.files("longdoc.report").joinpath("templates", name).read_text("utf-8")
