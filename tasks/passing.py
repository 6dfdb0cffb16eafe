"""Which failures of a step may be over a little later, so that trying again makes sense."""

import errno
from collections.abc import Iterator

WAITS = (10.0, 60.0, 300.0)  # seconds before the second, third and fourth attempt

# Of a network, and of a file system behind one.
PASSING = {
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ENETDOWN,
    errno.ENETRESET,
    errno.ENETUNREACH,
    errno.ESTALE,
}
BUSY = {408, 425, 429}  # of HTTP; from 500 on it is the other side's fault


def can_pass(error: BaseException) -> bool:
    """Whether a failure came from a network or from whoever is asked over it, in the error or what it was raised from.

    Data, models, settings and code fail the same way every time, and a full disk or a lack of memory wait for a person.
    The warehouse has its own patience, and so has the client of the Prefect server.
    """
    chain = list(_chain(error))
    if any(type(each).__name__ == "OfflineModeIsEnabled" for each in chain):  # somebody said not to ask
        return False
    return any(map(_passes, chain))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _passes(error: BaseException) -> bool:
    from httpx import TransportError

    answered = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(answered, int):
        return answered in BUSY or answered >= 500
    if isinstance(error, ConnectionError | TimeoutError | TransportError):
        return not isinstance(error, BrokenPipeError)  # a process of ours that died
    return isinstance(error, OSError) and error.errno in PASSING
