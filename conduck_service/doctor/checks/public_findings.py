"""What can be wrong with an address at which the app reaches the service."""

from __future__ import annotations

from conduck_service.doctor.finding import Declared, Level

CAUSES = (
    "service_down",
    "chat_silent",
    "chat_port_taken",
    "lane_silent",
    "lane_port_taken",
)

PUBLIC_NO_NAME = Declared(
    code="public_no_name",
    level=Level.FAIL,
    text="the host of the public address is not known to DNS",
    remedy="correct the address, or wait until the new name is known; a name of a "
    "private network needs that network's DNS here too",
)
PUBLIC_TLS = Declared(
    code="public_tls",
    level=Level.FAIL,
    text="the certificate of the public address is not trusted",
    remedy="let the front have a certificate for exactly this host, with those "
    "between it and a public authority; the app trusts what its phone trusts",
)
PUBLIC_SILENT = Declared(
    code="public_silent",
    level=Level.FAIL,
    text="the public address does not answer in time",
    remedy="see whether a firewall or the router lets the port in; a router that does "
    "not lead back in from inside is fine, so try it from a phone without Wi-Fi",
)
PUBLIC_UNREACHABLE = Declared(
    code="public_unreachable",
    level=Level.FAIL,
    text="the public address cannot be reached",
    remedy="see whether the tunnel or the proxy runs and has its certificate",
)
_REACHED = (
    "public_no_name",
    "public_tls",
    "public_silent",
    "public_unreachable",
    *CAUSES,
)
PUBLIC_STALE = Declared(
    code="public_stale",
    level=Level.FAIL,
    text="the public address is answered by a front that does not reach the service",
    remedy="start the tunnel anew and pair with its new address, or correct the port "
    "that the proxy passes on to",
    depends_on=_REACHED,
)
PUBLIC_HOST_REFUSED = Declared(
    code="public_host_refused",
    level=Level.FAIL,
    text="what stands at the public address refuses the request before the service "
    "sees it",
    remedy="let the front pass every request on; the service has a gate of its own",
    depends_on=_REACHED,
)
PUBLIC_OTHER_LOGIN = Declared(
    code="public_other_login",
    level=Level.FAIL,
    text="something else at the public address asks for a login or leads elsewhere",
    remedy="switch the front's own login off, since the app signs in to the service "
    "only; or correct where it passes on to",
    depends_on=_REACHED,
)
_PASSED = (
    *_REACHED,
    "public_stale",
    "public_host_refused",
    "public_other_login",
)
PUBLIC_DIFFERS = Declared(
    code="public_differs",
    level=Level.FAIL,
    text="the public address does not answer as the service does on this machine",
    remedy="let the front pass on to this service, with all of the request",
    depends_on=_PASSED,
)
PUBLIC_LOGIN_LOST = Declared(
    code="public_login_lost",
    level=Level.FAIL,
    text="the token or password does not arrive through the public address",
    remedy="let the front pass the Authorization header on, unchanged",
    depends_on=(*_PASSED, "public_differs"),
)
ANSWERED = (*_PASSED, "public_differs", "public_login_lost")
"""After one of these nothing else can be judged."""

PUBLIC_KEEPS_BODY = Declared(
    code="public_keeps_body",
    level=Level.FAIL,
    text="behind the public address a refused request makes the next one fail",
    remedy="let the front read requests whole before it passes them on",
    depends_on=ANSWERED,
)
PUBLIC_BODY_LIMIT = Declared(
    code="public_body_limit",
    level=Level.FAIL,
    text="a request as large as twenty photos does not pass the front",
    remedy="raise its limit for bodies to at least 64 MiB (nginx: "
    "client_max_body_size)",
    depends_on=ANSWERED,
)
PUBLIC_METHODS = Declared(
    code="public_methods",
    level=Level.FAIL,
    text="through the public address the file lane does not do what the app asks",
    remedy="let the front pass on every method of WebDAV and change no path; if "
    "open-conduit doctor --check-secrets finds it as well, start there",
    depends_on=(*ANSWERED, "public_body_limit"),
)
PUBLIC_TURN = Declared(
    code="public_turn",
    level=Level.FAIL,
    text="a turn is not answered through the public address",
    remedy="ask on this machine (open-conduit doctor --turn); if that is answered, let "
    "the front wait 300 s",
    depends_on=ANSWERED,
)
