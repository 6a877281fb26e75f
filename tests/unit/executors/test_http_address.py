"""Where requests of the executor ``http`` go."""

from __future__ import annotations

import pytest

from conduck_service.executors.http.address import (
    Address,
    Proxy,
    ProxyError,
    proxy_for,
)


def far(base_url: str = "https://api.example.org/v1") -> Address:
    return Address.below(base_url, "chat/completions")


@pytest.mark.parametrize(
    ("base_url", "host", "port", "authority", "path"),
    [
        ("http://box", "box", 80, "box", "/x"),
        ("http://box/", "box", 80, "box", "/x"),
        ("https://box:8443/v1/", "box", 8443, "box:8443", "/v1/x"),
        ("https://Box/a%20b", "box", 443, "Box", "/a%20b/x"),
        ("http://[::1]:81/v1", "::1", 81, "[::1]:81", "/v1/x"),
    ],
)
def test_a_path_is_below_the_base_url(
    base_url: str, host: str, port: int, authority: str, path: str
) -> None:
    address = Address.below(base_url, "x")
    assert (address.host, address.port) == (host, port)
    assert (address.authority, address.path) == (authority, path)
    assert address.is_secure is base_url.startswith("https")


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, None),
        ({"HTTPS_PROXY": ""}, None),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"HTTPS_PROXY": "http://p:1"}, Proxy(host="p", port=1)),
        ({"https_proxy": "http://q:2", "HTTPS_PROXY": "x"}, Proxy(host="q", port=2)),
        ({"ALL_PROXY": "p:1"}, Proxy(host="p", port=1)),
        ({"HTTPS_PROXY": "http://p/"}, Proxy(host="p", port=80)),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example.org"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ({"HTTPS_PROXY": "p:1", "NO_PROXY": "org.example"}, Proxy(host="p", port=1)),
        (
            {"HTTPS_PROXY": "http://a%40b:c@p:1"},
            Proxy(host="p", port=1, credentials="Basic YUBiOmM="),
        ),
    ],
)
def test_variables_name_a_proxy(
    variables: dict[str, str], wanted: Proxy | None
) -> None:
    assert proxy_for(far(), variables) == wanted


@pytest.mark.parametrize(
    "base_url",
    ["http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:1", "https://LOCALHOST"],
)
def test_this_machine_is_never_asked_through_a_proxy(base_url: str) -> None:
    variables = {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:1"}
    assert proxy_for(far(base_url), variables) is None


@pytest.mark.parametrize(
    "named", ["socks5://p:1", "https://p:1", "http://", "http://p:x", "http://[p"]
)
def test_a_proxy_that_cannot_be_used_is_no_reason_to_go_straight(named: str) -> None:
    with pytest.raises(ProxyError):
        proxy_for(far(), {"HTTPS_PROXY": named})


def test_credentials_of_a_proxy_are_not_shown() -> None:
    proxy = proxy_for(far(), {"HTTPS_PROXY": "http://me:word@p:1"})
    assert "Basic" not in repr(proxy)
