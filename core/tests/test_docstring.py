"""Docstrings: summary, details and parameters, with and without the parser."""

from collections import namedtuple
from dataclasses import dataclass

import pytest

from toolcrib.typed import docstring
from toolcrib.typed.docstring import Docstring, of_class, parse


GOOGLE = """Weather forecast
    for a town.

    It is a guess.

    Args:
        city: Town of
            interest.
        days (int): How many.

    Returns:
        Lines.
    """
NUMPY = """Weather forecast for a town.

    It is a guess.

    Parameters
    ----------
    city : str
        Town of interest.
    days
        How many.
    """
REST = """Weather forecast for a town.

    It is a guess.

    :param city: Town of interest.
    :param int days: How many.
    :returns: Lines.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_styles(text):
    """The three usual styles say the same."""
    assert parse(text) == Docstring(
        "Weather forecast for a town.",
        "It is a guess.",
        {"city": "Town of interest.", "days": "How many."},
    )


def test_without_the_parser(monkeypatch):
    """Without the extra the first paragraph is the summary, the rest the details."""
    monkeypatch.setattr(docstring, "_parser", lambda: None)
    found = parse(GOOGLE)
    assert found.summary == "Weather forecast for a town."
    assert found.details.startswith("It is a guess.\n\nArgs:")
    assert found.parameters == {}


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_nothing(text):
    """Nothing says nothing."""
    assert parse(text) == Docstring()


def test_prose_with_colons_is_no_section():
    """Ordinary prose is left as it is."""
    found = parse("One.\n\nNote: this stays.\n\n- a\n- b")
    assert found == Docstring("One.", "Note: this stays.\n\n- a\n- b")


def test_made_up_docstrings_of_classes_are_left_out():
    """A dataclass that says nothing has a docstring that Python wrote."""

    @dataclass
    class Plain:
        x: int

    assert of_class(Plain) == Docstring()
    assert of_class(namedtuple("Pair", "a b")) == Docstring()  # noqa: PYI024
    assert of_class(Docstring).summary == "What a docstring says."
