"""A field whose values are encrypted in the database, and in everything that is copied from it."""

from __future__ import annotations

import base64
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

    _Text = models.TextField[str, str]
else:
    _Text = models.TextField


def encrypt(text: str) -> str:
    """What is stored for a text, with the first key of the site."""
    return _cipher(_keys()).encrypt(text.encode()).decode()


def decrypt(stored: str) -> str:
    """The text, if one of the keys of the site has encrypted it; otherwise ""."""
    from cryptography.fernet import InvalidToken

    try:
        return _cipher(_keys()).decrypt(stored.encode()).decode()
    except InvalidToken:
        return ""


class EncryptedField(_Text):
    """A text, "" if the site no longer has the key. Queries cannot compare it."""

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return None if text is None else encrypt(text)

    def from_db_value(self, value: str | None, *_: object) -> str | None:
        return None if value is None else decrypt(value)


def _keys() -> tuple[str, ...]:
    return (str(settings.SECRET_KEY), *settings.SECRET_KEY_FALLBACKS)


@lru_cache(maxsize=4)
def _cipher(keys: tuple[str, ...]) -> MultiFernet:
    # loaded when the first value is used: it takes a tenth of the start of a worker
    from cryptography.fernet import Fernet, MultiFernet

    derived = (hmac.digest(key.encode(), b"schedweb.encrypted", "sha256") for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(each)) for each in derived])
