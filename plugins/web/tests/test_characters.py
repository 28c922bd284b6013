"""The right characters, whatever headers, marks and meta say."""

import codecs

import pytest

from hypothesis import given
from hypothesis import strategies as st
from toolcrib_net.testing import ok

from toolcrib_web.charsets import codec_of, decode


TEXTS = {
    "gb18030": "中文网页的内容是这样的，包括汉字。",
    "shift_jis": "日本語のページの内容です。漢字とかな。",
    "euc-jp": "日本語のページの内容です。漢字とかな。",
    "euc-kr": "한국어 페이지의 내용입니다.",
    "big5": "中文網頁的內容是這樣的，包括漢字。",
    "iso-2022-jp": "日本語のページの内容です。",
    "windows-1252": "Die Größe beträgt fünf Meter – „gut“.",
    "windows-1251": "Содержание страницы на русском языке.",
    "koi8-r": "Содержание страницы на русском языке.",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("where", ["header", "meta", "http-equiv"])
def test_declared_encoding_is_read(name, where):
    text = TEXTS[name]
    meta = {
        "header": "",
        "meta": f'<meta charset="{name}">',
        "http-equiv": f'<meta http-equiv="Content-Type" content="text/html; charset={name}">',
    }[where]
    data = f"<html><head>{meta}</head><body>{text}".encode(name)
    found = decode(data, name if where == "header" else None)
    assert text in found.text
    assert found.source == ("header" if where == "header" else "meta")


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF8, "utf-8"),
    ],
)
def test_byte_order_mark_wins_over_every_declaration(mark, codec):
    found = decode(mark + "<p>größe 中".encode(codec), "windows-1251")
    assert (found.text, found.source) == ("<p>größe 中", "bom")


def test_utf16_without_any_mark_is_recognised():
    assert (
        decode("<html><p>plain words</p>".encode("utf-16-le")).text
        == "<html><p>plain words</p>"
    )


def test_header_that_the_bytes_contradict_gives_way_to_the_meta():
    text = TEXTS["gb18030"]
    found = decode(f'<meta charset="gb2312">{text}'.encode("gb18030"), "utf-8")
    assert text in found.text
    assert (found.encoding, found.source, found.passed_over) == ("gb18030", "meta", ("utf-8",))


def test_header_comes_before_the_meta_where_both_fit():
    data = '<meta charset="windows-1251">abc é'.encode("windows-1252")
    assert decode(data, "windows-1252").text.endswith("é")


def test_utf8_behind_a_header_that_says_latin_1_is_utf8_all_the_same():
    found = decode("größer, schöner, 中文".encode(), "iso-8859-1")
    assert (found.text, found.passed_over) == ("größer, schöner, 中文", ("cp1252",))


@pytest.mark.parametrize("label", ["utf-7", "no-such-charset", "", '""utf-8""', "base64", "\0"])
def test_senseless_label_is_no_exception(label):
    assert decode("größe und schöne".encode(), label).text == "größe und schöne"


def test_utf7_is_never_decoded():
    assert "<script>" not in decode(b"+ADw-script+AD4-", "utf-7").text


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin1", "cp1252"),
        ("GB2312", "gb18030"),
        (" Shift_JIS ", "cp932"),
        ("unicode", "utf-16-le"),
    ],
)
def test_labels_mean_what_they_mean_on_the_web(label, codec):
    assert codec_of(label) == codec


def test_text_that_was_cut_inside_of_a_character_is_not_misread():
    data = ("中" * 100).encode()[:-1]
    assert decode(data, "utf-8").text == "中" * 99


def test_undeclared_legacy_text_is_guessed():
    text = TEXTS["windows-1251"] * 10
    found = decode(text.encode("windows-1251"))
    assert (found.text, found.source) == (text, "guess")


@given(st.binary(max_size=200), st.sampled_from([None, "utf-8", "gbk", "iso-2022-jp", "x"]))
def test_any_bytes_come_to_some_text(data, label):
    assert isinstance(decode(data, label).text, str)


@pytest.mark.parametrize("name", ["gb18030", "shift_jis", "euc-kr", "windows-1251"])
def test_page_is_shown_in_its_own_letters(site, web, text, name):
    body = f'<html><head><meta charset="{name}"></head><p>{TEXTS[name]}</p>'.encode(name)
    site.add("/p", ok(body, "text/html"))
    outcome = web.fetch(site.url("/p", "site.test"))
    assert TEXTS[name].rstrip("。") in text(outcome)
    assert outcome.result.structured["charset"]


def test_result_says_which_declaration_was_passed_over(site, web, text):
    body = f'<meta charset="gb2312"><p>{TEXTS["gb18030"]}'.encode("gb18030")
    site.add("/p", ok(body, "text/html; charset=utf-8"))
    assert "declared utf-8, which the bytes are not" in text(
        web.fetch(site.url("/p", "site.test"))
    )
