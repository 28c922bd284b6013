"""Property tests: another spelling of a thing never has a looser verdict.

``--slow`` tries 10,000 examples of each.
"""

from __future__ import annotations

import ipaddress
import os
import tempfile

from pathlib import Path

import pytest

from hypothesis import assume, given
from hypothesis import strategies as st
from toolcrib import resources
from toolcrib.resources.folding import fold
from toolcrib.rules import bind, narrow, parse, wide
from toolcrib.signature import Signature


RANK = {"run": 2, "ask": 1}

LABELS = ["example", "docs", "api", "evil", "bücher", "日本", "xn--bcher-kva", "a-b"]
FOLDERS = ["src", "docs", "secrets", ".env", "a b", "ä"]


def rank(verdict):
    return RANK.get(verdict, 0)


def no_looser(judged, plain, spelled, *rules, **context):
    """Assert that the spelling is judged no looser, as read and as written."""
    for make in (lambda r: Signature(reads=[r]), lambda r: Signature(writes=[r])):
        expected = judged(make(plain), *rules, **context)
        found = judged(make(spelled), *rules, **context)
        assert rank(found) <= rank(expected), (plain, spelled, rules, expected, found)


def canonical(make, text, kind):
    """A resource, or *any* resource where there is no canonical form."""
    try:
        return make(text)
    except ValueError:
        return resources.Any(kind)


# -- hosts ---------------------------------------------------------------------------------


@st.composite
def hosts(draw):
    return ".".join(draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3))) + ".com"


@st.composite
def host_spellings(draw, plain):
    """Letter case, width, decomposition, dots of other scripts, a trailing dot."""
    import unicodedata  # noqa: PLC0415

    text = "".join(
        draw(st.sampled_from([c, c.upper() if len(c.upper()) == 1 else c, _fullwidth(c)]))
        for c in plain
    )
    if draw(st.booleans()):
        text = unicodedata.normalize("NFD", text)
    dot = draw(st.sampled_from([".", "\u3002", "\uff0e", "\uff61"]))
    text = text.replace(".", dot, draw(st.integers(0, 3)))
    return text + draw(st.sampled_from(["", "."]))


def _fullwidth(character):
    return (
        chr(ord(character) + 0xFEE0)
        if "!" <= character <= "~" and character != "."
        else character
    )


@st.composite
def host_rules(draw):
    pattern = draw(hosts() | hosts().map(lambda h: "*." + h.partition(".")[2]) | st.just("*"))
    verdict = draw(st.sampled_from(["allow", "ask", "deny"]))
    sign = draw(st.sampled_from(["", "!"]))
    return f"{verdict} files.*(host={sign}{pattern})"


@given(st.data(), hosts(), st.lists(host_rules(), max_size=4))
def test_spellings_of_a_host(judged, data, plain, rules):
    """Case, width, IDN and dots."""
    spelled = data.draw(host_spellings(plain))
    no_looser(judged, resources.Host(plain), canonical(resources.Host, spelled, "host"), *rules)


@st.composite
def address_spellings(draw, value):
    """Every way to write an IPv4 address that resolvers accept."""
    numbers = [value >> shift & 255 for shift in (24, 16, 8, 0)]
    kept = draw(st.integers(1, 4))
    tail = 0
    for number in numbers[kept - 1 :]:
        tail = tail * 256 + number
    parts = [*numbers[: kept - 1], tail]
    forms = [str, hex, lambda n: f"0{n:o}", lambda n: f"0X{n:X}", lambda n: f"000{n:o}"]
    return ".".join(draw(st.sampled_from(forms))(part) for part in parts)


@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from(["allow", "ask", "deny"]))
def test_spellings_of_an_ipv4_address(judged, data, value, verdict):
    """Decimal, octal, hexadecimal, short, and mapped into IPv6."""
    plain = str(ipaddress.IPv4Address(value))
    spelled = data.draw(
        address_spellings(value)
        | st.just(f"::ffff:{plain}")
        | st.just(f"[::FFFF:{value >> 16:x}:{value & 0xFFFF:x}]")
    )
    assert resources.Host(spelled) == resources.Host(plain)
    no_looser(
        judged,
        resources.Host(plain),
        resources.Host(spelled),
        f"{verdict} files.*(host={plain})",
    )


@given(st.integers(0, 2**128 - 1))
def test_spellings_of_an_ipv6_address(value):
    """Long, short, with capitals, in brackets, with a zone."""
    address = ipaddress.IPv6Address(value)
    forms = [
        str(address),
        address.exploded,
        address.exploded.upper(),
        f"[{address}]",
        f"{address}%1",
    ]
    assert len({resources.Host(form) for form in forms}) == 1


@given(st.text(max_size=30))
def test_any_text_is_a_host_in_canonical_form_or_none(text):
    """What comes out is its own canonical form, and in ASCII."""
    try:
        found = resources.Host(text)
    except ValueError:
        return
    assert found.value.isascii()
    assert resources.Host(found.value) == found


@given(st.lists(st.sampled_from([*"aZ.0x1-_ßς\u200d。ａ日ä%:[]", "xn--", "0x"]), max_size=12))
def test_any_text_like_a_host_is_stable(pieces):
    """The same, closer to what hosts are made of."""
    test_any_text_is_a_host_in_canonical_form_or_none.hypothesis.inner_test("".join(pieces))


# -- addresses -----------------------------------------------------------------------------


@st.composite
def url_spellings(draw, host, segments):
    """Scheme, credentials, port, dots, encodings and fragment of one target."""
    scheme = draw(st.sampled_from(["https", "HTTPS", "HttpS"]))
    user = draw(st.sampled_from(["", "me@", "me:secret@", "good.com@", "a%40b:c@"]))
    port = draw(st.sampled_from(["", ":443", ":0443", ":"]))
    path = []
    for segment in segments:
        path += draw(st.sampled_from([[], ["."], ["x", ".."], ["%2e"], ["y", "%2E%2e"]]))
        path.append(
            "".join(
                draw(st.sampled_from([c, _encoded(c), _encoded(c).lower()])) for c in segment
            )
        )
    slash = draw(st.sampled_from(["/", "\\"]))
    fragment = draw(st.sampled_from(["", "#x", "#/../y"]))
    name = draw(host_spellings(host))
    if draw(st.booleans()) and name.isascii():
        name = "".join(draw(st.sampled_from([c, _encoded(c)])) if c != "." else c for c in name)
    return f"{scheme}://{user}{name}{port}/{slash.join(path)}{fragment}"


def _encoded(character):
    return "".join(f"%{byte:02X}" for byte in character.encode())


@st.composite
def url_rules(draw):
    verdict = draw(st.sampled_from(["allow", "ask", "deny"]))
    host = draw(hosts() | hosts().map(lambda h: "*." + h.partition(".")[2]))
    path = "/".join(draw(st.lists(st.sampled_from(["a", "b", "admin", "*", "**"]), max_size=2)))
    return f"{verdict} files.*(url=https://{host}/{path})"


@given(
    st.data(),
    hosts(),
    st.lists(st.sampled_from(["a", "b", "admin", "a.b"]), max_size=3),
    st.lists(url_rules() | host_rules(), max_size=4),
)
def test_spellings_of_an_address(judged, data, host, segments, rules):
    """They are one target, so they have one verdict."""
    plain = resources.Url(f"https://{host}/{'/'.join(segments)}")
    spelled = canonical(resources.Url, data.draw(url_spellings(host, segments)), "url")
    no_looser(judged, plain, spelled, *rules)


PIECES = [
    "https://", "http:", "a.com", "@", ":", "80", "/", "\\",
    "..", "%2e", "%2f", "?", "#", "[::1]", "ä", " ", ".",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=10))
def test_any_text_like_an_address_is_stable(pieces):
    """What comes out is its own canonical form, and names the host that it is sent to."""
    try:
        found = resources.Url("".join(pieces))
    except ValueError:
        return
    assert resources.Url(found.value) == found
    assert resources.Host(resources.host_of(found.value)).value == resources.host_of(
        found.value
    )


# -- paths ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workspace():
    """A folder with folders, and a link to each of them."""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        for name in FOLDERS:
            Path(root, name, "sub").mkdir(parents=True)
            Path(root, f"link-{name}").symlink_to(name)
        Path(root, "out").symlink_to("/")
        yield root


@st.composite
def path_rules(draw):
    verdict = draw(st.sampled_from(["allow", "ask", "deny"]))
    piece = st.sampled_from([*FOLDERS, "*", "**", "s*", ".e*", "sub"])
    pattern = "/".join(draw(st.lists(piece, min_size=1, max_size=3)))
    sign = draw(st.sampled_from(["", "!"]))
    return f"{verdict} files.*(path={sign}{pattern})"


@st.composite
def path_spellings(draw, root, parts):
    """Dots, doubled slashes, links, and the way through ``out`` and back."""
    text = draw(st.sampled_from([root, "", ".", f"{root}/out{root}"]))
    for position, part in enumerate(parts):
        between = ["/", "//", "/./", "/src/../", "/link-src/sub/../../"]
        text += draw(st.sampled_from(between[: None if position == 0 else 3])) if text else ""
        # Only the folders of the workspace itself have links beside them.
        text += draw(st.sampled_from([part, f"link-{part}"] if position == 0 else [part]))
    return text


@given(
    st.data(),
    st.builds(
        lambda first, rest: [first, *rest],
        st.sampled_from(FOLDERS),
        st.lists(st.sampled_from(["sub", "new", ".env"]), max_size=2),
    ),
    st.lists(path_rules(), max_size=4),
)
def test_spellings_of_a_path(judged, workspace, data, parts, rules):
    """One file has one verdict, or a stricter one where a deny sees the link."""
    mode = data.draw(st.sampled_from(["ask", "edits", "trust", "plan"]))
    plain = resources.Path("/".join([workspace, *parts]))
    spelled = resources.Path(data.draw(path_spellings(workspace, parts)))
    no_looser(judged, plain, spelled, *rules, mode=mode, workspace=workspace)


@given(
    st.data(),
    st.lists(st.sampled_from([*FOLDERS, "sub"]), min_size=1, max_size=3),
    st.lists(path_rules(), max_size=4),
    st.sampled_from(["ask", "edits", "trust"]),
)
def test_spellings_that_a_case_blind_disk_takes_for_one(judged, data, parts, rules, mode):
    """Rules about small letters hold for capitals, other widths and compositions."""
    import unicodedata  # noqa: PLC0415

    spelled = []
    for part in parts:
        text = "".join(data.draw(st.sampled_from([c, c.upper(), _fullwidth(c)])) for c in part)
        spelled.append(unicodedata.normalize(data.draw(st.sampled_from(["NFC", "NFD"])), text))
    no_looser(
        judged,
        resources.Path("/ws/" + "/".join(parts)),
        resources.Path("/ws/" + "/".join(spelled)),
        *rules,
        mode=mode,
    )


@given(
    st.text(
        st.characters(exclude_characters="/", exclude_categories=["C", "Z"]) | st.just(" "),
        min_size=1,
    )
)
def test_any_name_is_denied_by_its_own_exact_pattern(judged, name):
    """Whatever characters it holds."""
    from toolcrib import rules  # noqa: PLC0415

    assume(name not in {".", ".."})
    found = resources.Path(f"/ws/{name}")
    pattern = rules.quote(rules.exact("path", found.value))
    call = Signature(reads=[found])
    assert judged(call, f"deny *(path={pattern})", mode="trust") == "rule.denied"
    assert judged(call, f"allow *(path={pattern})", workspace="/elsewhere") == "run"


# -- commands ------------------------------------------------------------------------------

WORDS = ["git", "push", "rm", "-rf", "-r", "--force", "a b", "*", "$x", "-C", "d", "status"]
WRAPPERS = [
    ["timeout", "5"], ["nohup"], ["env", "A=1"], ["A=1"], ["nice", "-n", "5"], ["sudo"],
    ["xargs", "-n", "1"], ["command"], ["find", ".", "-exec"], ["setsid", "-w"],
]  # fmt: skip


@st.composite
def command_rules(draw):
    verdict = draw(st.sampled_from(["allow", "ask", "deny"]))
    words = draw(
        st.lists(
            st.sampled_from(["git", "push", "rm", "-rf", "*", "d"]), min_size=1, max_size=3
        )
    )
    return f"{verdict} files.*(command={' '.join(words)})"


@given(
    st.data(),
    # No program's name begins like an option: a wrapper would take it for one of its own.
    st.builds(
        lambda program, words: [program, *words],
        st.sampled_from(["git", "rm", "a b", "*", "d"]),
        st.lists(st.sampled_from(WORDS), max_size=3),
    ),
    st.lists(command_rules(), max_size=4),
)
def test_spellings_of_a_command(judged, data, words, rules):
    """Quoting and blanks are nothing; paths and wrappers never loosen."""
    plain = resources.Command(words)
    quoted = data.draw(st.sampled_from([" ", "   "])).join(
        "".join(f"'{c}'" if not c.isalnum() or data.draw(st.booleans()) else c for c in word)
        for word in words
    )
    assert resources.Command(quoted) == plain
    wrapped = [
        word
        for wrapper in data.draw(st.lists(st.sampled_from(WRAPPERS), max_size=2))
        for word in wrapper
    ]
    folder = data.draw(st.sampled_from(["", "/usr/bin/", "./"]))
    # A rule that allows every command, or a wrapper, says so; it is not loosened by one.
    rules = [rule for rule in rules if "command=*" not in rule]
    no_looser(
        judged, plain, resources.Command([*wrapped, folder + words[0], *words[1:]]), *rules
    )


# -- what the two widths promise -----------------------------------------------------------


@given(path_rules(), st.lists(st.sampled_from([*FOLDERS, "sub", "SRC"]), max_size=4))
def test_what_fits_narrowly_fits_widely(rule, parts):
    """A deny sees all that an allow with its pattern would."""
    (field,) = parse(rule).fields
    value = "/ws/" + "/".join(parts)
    slim = bind(field.pattern, broad=False, workspace="/ws", home="/h")
    full = bind(field.pattern, broad=True, workspace="/ws", home="/h")
    if slim.hits([narrow("path", value)]):
        assert full.hits(wide("path", value))


@given(st.text())
def test_folding_twice_changes_nothing(text):
    """So a pattern and a value meet in one form."""
    assert fold(fold(text)) == fold(text)
