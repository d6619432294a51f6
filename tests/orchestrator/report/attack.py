"""A text that would do harm if anything took it for markup, script or a formula."""

HOSTILE = "</script><img src=x onerror='window.pwned=1'><b>&\u2028\"'`${1}"
SHOWN = HOSTILE.replace("\u2028", r"\u2028")
"""As it is read: what is not printable stands there as its escape."""
