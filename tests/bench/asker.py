"""Asks for the list of models again and again; run as a process of its own.

So the figure is the service's, not that of the threads which make the load.

usage: python -m tests.bench.asker PORT TOKEN SAMPLES
"""

from __future__ import annotations

import http.client
import json
import sys
import time


def ask(port: int, token: str) -> float:
    """Ask once, on a connection of its own; return the seconds it took."""
    start = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}"}
    connection.request("GET", "/v1/models", headers=headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status == 200, response.status
    return time.perf_counter() - start


if __name__ == "__main__":
    port, token, samples = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    print(json.dumps([ask(port, token) for _ in range(samples)]))
