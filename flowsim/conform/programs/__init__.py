"""Programs for PyFlink as they are: what they give here, and on the real PyFlink (``docs/conform.md``)."""
