"""Sends links by mail, if the site has a mail server."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail

from apps.people.accounts import PasswordLink

log = logging.getLogger(__name__)

_TEXT = """\
Hello {name},

set your password for {site} here:

{url}

The link works once, until {expires:%Y-%m-%d %H:%M} UTC.
"""


def send_link(link: PasswordLink, url: str) -> bool:
    """Send the link to its user; False without a mail server or an address, or if it fails."""
    user = link.user
    if not settings.EMAIL_HOST or not user.email:
        return False
    site = url.removesuffix(link.path)
    text = _TEXT.format(name=user.username, site=site, url=url, expires=link.expires_at)
    try:
        send_mail("Your password for schedweb", text, None, [user.email])
    except (OSError, SMTPException):
        log.exception("could not send a link to %s", user.username)
        return False
    return True
