"""Results for people: pages, tables, pictures. Reads results, computes none."""

from longdoc.report.displacy import from_displacy, to_displacy
from longdoc.report.html import ExplainedDocument, explanation_page

__all__ = ["ExplainedDocument", "explanation_page", "from_displacy", "to_displacy"]
