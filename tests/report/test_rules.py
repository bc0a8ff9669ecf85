"""Rules in a report: each name of a rule shows its text and Flink's classes, and leads to the page of rules."""

from __future__ import annotations

import pytest

from tests.report.conftest import OpenReport
from tests.support.accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FLINK = "Flink: WindowOperator"
TEXT = "A window is late when its cleanup time is not above the watermark"


def test_rule_of_the_fact_shows_its_text_and_leads_to_the_page_of_rules(open_report: OpenReport) -> None:
    page = open_report("12", "#view=steps")
    button = page.locator(".sentence button.rule", has_text="rule 10.9")

    button.hover()
    assert TEXT in page.inner_text(".tooltip")
    assert FLINK in page.inner_text(".tooltip")
    button.click()
    assert FLINK in page.inner_text(".sentence .rule-text")
    page.locator(".sentence .rule-text a", has_text="in the page of rules").click()

    page.wait_for_url("**view=rules*&rule=10.9*")
    chosen = page.locator(".rules li[aria-current]")
    assert chosen.inner_text().startswith(f"10.9 {TEXT}")
    assert chosen.inner_text().endswith(FLINK)
    box, above = chosen.bounding_box(), page.locator(".above").bounding_box()
    assert box is not None
    assert above is not None
    assert above["y"] + above["height"] <= box["y"] <= 900 - box["height"]
    assert violations(page) == []
    page.go_back()
    page.wait_for_selector("#tab-steps[aria-selected=true]")


@pytest.mark.parametrize(
    ("name", "place", "region", "rule"),
    [
        ("12", "#view=event-time&task=1", ".late-record", "10.8"),
        ("12", "#view=state&task=1", ".changes", "10.7"),
        ("12", "#view=steps&task=1", ".steps", "10.10"),
        ("03", "#view=channel", ".note", "6.8"),
        ("12", "#view=laws", ".laws", "8.1"),
        ("40b", "#view=checkpoints&checkpoint=1", "[aria-label^='In-flight data in checkpoint 1']", "12.83"),
        ("40b", "#view=checkpoints&checkpoint=1", ".why", ""),
    ],
)
def test_every_name_of_a_rule_is_a_link(open_report: OpenReport, name: str, place: str, region: str, rule: str) -> None:
    page = open_report(name, place)
    page.evaluate("[...document.querySelectorAll('details')].forEach(one => { one.open = true })")
    links = page.locator(f"{region} a.rule-link")
    number = links.filter(has_text=rule).first.inner_text()
    assert number.startswith(rule)
    unlinked = page.locator(region).first.evaluate(
        "region => [...region.querySelectorAll('a')].reduce((text, link) => text.replace(link.textContent, ''),"
        " region.textContent).match(/rules? \\d+\\.\\d+/g)"
    )
    assert unlinked is None

    links.filter(has_text=rule).first.click()

    assert page.locator(".rules li[aria-current] strong").inner_text() == number


def test_link_opens_the_page_at_a_rule_as_plain_text(open_report: OpenReport) -> None:
    page = open_report("12", "#view=rules&rule=0.2")

    assert page.inner_text(".rules li[aria-current]").startswith("0.2 An element is a record, a watermark, ")
    assert "](" not in page.inner_text(".rules")
    assert page.locator("#view .rules li").count() > 300
    page.keyboard.press("2")
    page.keyboard.press("9")
    assert page.locator("#tab-rules[aria-selected=true]").count() == 1
