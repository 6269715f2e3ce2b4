"""The same models behind the interfaces of other libraries."""
