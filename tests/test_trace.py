"""Every rule has a test or stands in the list of open ones, never both."""

from __future__ import annotations

import pytest

from tests.support.trace import (
    ID,
    REFERENCE,
    ids_in_code,
    ids_in_tests,
    open_rows,
    read_rules,
    table,
)


def test_the_table_of_rules_is_whole() -> None:
    rules = read_rules()
    assert len(rules) == 1519
    assert all(ID.fullmatch(rule) for rule in rules)


def test_every_rule_that_binds_is_shown_or_listed_as_open() -> None:
    shown, listed = ids_in_tests(), set(open_rows())
    must = {rule.id for rule in read_rules().values() if rule.level.startswith("MUST")}
    assert sorted(must - shown.keys() - listed) == []


def test_no_rule_is_both_shown_and_open() -> None:
    assert sorted(set(open_rows()) & ids_in_tests().keys()) == []


def test_open_rows_are_rules_and_each_stands_once() -> None:
    rows = open_rows()
    assert rows == sorted(set(rows))
    assert sorted(set(rows) - read_rules().keys()) == []


@pytest.mark.req("P-06")
def test_code_and_tests_name_rules_that_exist() -> None:
    rules = read_rules()
    assert sorted((ids_in_code().keys() | ids_in_tests().keys()) - rules.keys()) == []


def test_every_rule_that_code_names_is_shown_by_a_test() -> None:
    assert sorted(ids_in_code().keys() - ids_in_tests().keys()) == []


def test_the_page_of_rules_is_fresh() -> None:
    assert (REFERENCE / "trace.md").read_text(encoding="utf-8") == table()
