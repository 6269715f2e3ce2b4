"""Spans: from marked places in a text to tags of its words, and from scores of tags back to places. No network here."""

from longdoc.spans.redaction import redacted

__all__ = ["redacted"]
