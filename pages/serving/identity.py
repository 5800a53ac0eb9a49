"""Identity of a browser on a shared server: a number in a signed cookie.

The key is stored in the data folder, so that a restarted server recognizes
every browser; nobody without the key can forge another's cookie.
"""

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from itsdangerous import BadSignature, Signer

from bnmf_core.store.home import data_home

COOKIE = "bnmf_owner"
# Lifetime of the cookie in seconds, the longest that browsers allow.
LASTING = 400 * 24 * 3600
NUMBER = re.compile(r"[0-9a-f]{32}")
KEY = "cookie.key"


def new_owner() -> str:
    """A new random owner number."""
    return secrets.token_hex(16)


def signed(owner: str) -> str:
    """The content of an owner's cookie."""
    return _signer().sign(owner).decode()


def owner_of(cookies: Mapping[str, str]) -> str | None:
    """The owner of a cookie; None without one, or if its signature is invalid."""
    try:
        owner = _signer().unsign(cookies.get(COOKIE, "")).decode()
    except (BadSignature, UnicodeDecodeError):
        return None
    return owner if NUMBER.fullmatch(owner) else None


def cookies_in(header: str) -> dict[str, str]:
    """The cookies that a browser sent."""
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(header).items()}
    except CookieError:
        return {}


def cookie(owner: str, secure: bool) -> str:
    """The header that sets the cookie; scripts of a page cannot read it."""
    parts = [f"{COOKIE}={signed(owner)}", "Path=/", f"Max-Age={LASTING}", "HttpOnly"]
    return "; ".join([*parts, "SameSite=Lax", *(["Secure"] if secure else [])])


def _signer() -> Signer:
    return Signer(_key(data_home()), salt="bnmf owner", digest_method=hashlib.sha256)


@lru_cache(maxsize=4)
def _key(home: Path) -> bytes:
    file = os.fdopen(os.open(home / KEY, os.O_CREAT | os.O_RDWR, 0o600), "r+b")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # of two that begin at once, one makes it
        if not (key := file.read()):
            file.write(key := secrets.token_bytes(32))
    return key
