"""Findings are declared once, with a remedy, and lead to each other without circles."""

from __future__ import annotations

import graphlib

from conduck_service.doctor.areas import AREAS, declared
from conduck_service.doctor.finding import Declared, Level
from conduck_service.selftest.file_cases import FILE_CASES
from conduck_service.selftest.gate_cases import GATE_CASES
from conduck_service.selftest.turn_cases import DEEP_CASES, TURN_CASES
from conduck_service.selftest.wire_cases import WIRE_CASES
from tests.support.findings_page import PAGE, page

BRING_THEIR_OWN = {
    "config_warning",
    "state_unsafe",
    "lane_folder_unusable",
    "lane_folder_mode",
    "secret_missing",
    "secret_empty",
    "unsafe_file",
    "command_not_found",
    "command_failed",
    "command_timeout",
    "output_too_large",
    "keyring_unavailable",
}
"""Findings whose remedy depends on what was found."""


def test_each_code_is_declared_once() -> None:
    found: dict[str, Declared] = {}
    for item in (x for area in AREAS for check in area.checks for x in check.findings):
        assert found.setdefault(item.code, item) is item


def test_whatever_is_wrong_has_a_remedy() -> None:
    for item in declared():
        assert item.level is not Level.OK
        needs_one = item.level is not Level.INFO and item.code not in BRING_THEIR_OWN
        assert bool(item.remedy) or not needs_one, item.code


def test_causes_exist_and_form_no_circle() -> None:
    graph = {item.code: item.depends_on for item in declared()}
    blocked = {x for area in AREAS for check in area.checks for x in check.blocked_by}
    assert {x for causes in graph.values() for x in causes} | blocked <= set(graph)
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_each_case_of_selftest_has_a_name_of_its_own() -> None:
    cases = (*GATE_CASES, *WIRE_CASES, *TURN_CASES, *DEEP_CASES, *FILE_CASES)
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.means and case.remedy for case in cases)


def test_the_page_of_findings_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()
