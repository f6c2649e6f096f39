"""The request, or the command, on whose behalf the present code runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, from where, and with which token."""

    #: Empty: the site's own work, or a stranger.
    name: str = ""
    address: str = ""
    #: The name of the token; empty for a session.
    token: str = ""


FindCaller = Callable[[], Caller]


def caller_of(user: object, address: str) -> Caller:
    """This user, who may not be authenticated, at this address."""
    if not isinstance(user, AbstractBaseUser):
        return Caller("", address)
    return Caller(user.get_username(), address, getattr(user, "token_name", ""))


def caller_of_request(request: HttpRequest) -> Caller:
    """The caller of a request of Django, as far as it is authenticated by now."""
    user = getattr(request, "user", None)
    known = user if getattr(user, "is_authenticated", False) else None
    # of a lazy object, the user in it
    wrapped = getattr(known, "_wrapped", known)
    return caller_of(wrapped, request.META.get("REMOTE_ADDR", ""))


_find_caller: ContextVar[FindCaller] = ContextVar("find_caller", default=Caller)


def current_caller() -> Caller:
    """The present caller; without a name in the site's own work."""
    return _find_caller.get()()


@contextmanager
def calling(caller: Caller | HttpRequest) -> Iterator[None]:
    """Make this the present caller inside the block; views authenticate requests late."""
    if isinstance(caller, Caller):
        token = _find_caller.set(lambda: caller)
    else:
        token = _find_caller.set(lambda: caller_of_request(caller))
    try:
        yield
    finally:
        _find_caller.reset(token)
