"""The service of the person who calls, as the commands see it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from conduck_service.cli.output import refuse
from conduck_service.service.account import Account, own_account
from conduck_service.service.own import OwnService
from conduck_service.service.programs import SystemPrograms
from conduck_service.service.user_agent import UserAgent
from conduck_service.service.user_unit import UserUnit

IS_MAC = sys.platform == "darwin"


def person(environment: Mapping[str, str]) -> Account:
    """Return who calls; end the process where that is nobody with a service."""
    account = own_account(environment)
    if account.uid == 0:
        refuse(
            "root has no service of its own: call this as the user who runs the "
            "engine, or let the system's service run as that user with open-conduit "
            "service run-as NAME"
        )
    if not _is_at_home(account):
        refuse(
            "HOME is not a folder of this user; call this in a login of the user "
            "(sudo -u NAME -i)"
        )
    return account


def _is_at_home(account: Account) -> bool:
    try:
        owner = account.home.stat().st_uid
    except OSError:
        return False
    return account.home.is_absolute() and owner == account.uid


def own_service(account: Account, environment: Mapping[str, str]) -> OwnService:
    """Return the person's own service."""
    if IS_MAC:
        return UserAgent(account, SystemPrograms(), time.sleep)
    return UserUnit(account, environment, SystemPrograms())
