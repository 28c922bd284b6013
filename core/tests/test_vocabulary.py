"""The closed sets of words."""

from __future__ import annotations

import pytest

from toolcrib import Allow
from toolcrib.vocabulary import Effect, Mode, Scope


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (
            lambda: Mode("yolo"),
            "'yolo' is no mode: it is one of 'plan', 'ask', 'edits', 'trust'",
        ),
        (lambda: Allow(by="me", scope="ever"), "is no scope: it is one of 'once', 'session',"),
        (lambda: Effect(3), "3 is no effect: it is one of 'fs_read', "),
    ],
)
def test_a_word_that_is_not_known_is_answered_with_those_that_are(use, text):
    """Whoever mistyped one need not look them up."""
    with pytest.raises(ValueError, match=text):
        use()


def test_known_words_are_taken():
    """As text or as a member."""
    assert Scope("once") is Scope(Scope.ONCE) is Scope.ONCE
