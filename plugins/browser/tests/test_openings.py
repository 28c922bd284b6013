"""Ids of one opening of a conversation are those of no other."""

from __future__ import annotations

import re

from concurrent.futures import ThreadPoolExecutor

from toolcrib_browser.openings import tag


def test_first_opening_of_a_name_is_always_called_alike(tmp_path):
    """So a recorded transcript can be run again, elsewhere too."""
    assert tag(tmp_path / "a", "shop") == tag(tmp_path / "b", "shop")
    assert re.fullmatch("[a-z0-9]{4}", tag(tmp_path / "c", "shop"))


def test_each_opening_has_a_tag_of_its_own(tmp_path):
    """Also when many come at once."""
    with ThreadPoolExecutor(8) as pool:
        tags = list(pool.map(lambda _: tag(tmp_path, "shop"), range(64)))
    assert len(set(tags)) == 64
    assert tag(tmp_path, "other") not in tags


def test_marks_of_openings_do_not_pile_up(tmp_path):
    """Conversations without a name are many."""
    for number in range(700):
        tag(tmp_path, f"run {number}")
    assert len(list(tmp_path.iterdir())) < 600
    assert tag(tmp_path, "run 699") != tag(tmp_path / "fresh", "run 699")
