"""The extension type ``conduck_files``: one file lane of a scope."""

from __future__ import annotations

from conduck_service.extension.ingress import IngressType
from conduck_service.extension.late import late
from conduck_service.files.settings import FILES_SPEC, check_entry

FILES_INGRESS = IngressType(
    name="conduck_files",
    spec=FILES_SPEC,
    build=late("conduck_service.files.ingress:FilesIngress"),
    check=check_entry,
    folder="root",
)
