"""Which addresses are inner ones, in every form that leads to one."""

import ipaddress

import pytest

from hypothesis import given
from hypothesis import strategies as st

from toolcrib_net import AddressRules, NetError, NetPolicy, target, why_inner
from toolcrib_net.addresses import parse_address


INNER = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.5", "172.16.0.1"),
    *("172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255"),
    *("100.100.100.200", "192.0.0.8", "192.0.0.170", "192.0.2.1", "198.18.0.1", "198.51.100.1"),
    *("203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("192.88.99.1", "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fec0::1"),
    *("fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001:2::1", "100::1", "3fff::1"),
    *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:7f00:1", "::127.0.0.1", "4000::1"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::a00:1", "2002:7f00:1::"),
    *("2002:808:808::", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2606:4700::5efe:a00:1"),
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "172.32.0.1",
    "100.128.0.1",
]


@pytest.mark.parametrize("text", INNER)
def test_inner_address_is_refused_with_a_reason(text):
    assert why_inner(parse_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_address_of_the_public_internet_is_let_through(text):
    assert why_inner(parse_address(text)) is None


@given(st.integers(0, 2**32 - 1))
def test_nothing_that_the_standard_library_calls_private_is_let_through(value):
    address = ipaddress.IPv4Address(value)
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert why_inner(address)


@given(
    st.integers(2, 2**32 - 1),
    st.sampled_from(["::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "::"]),
)
def test_address_inside_of_an_address_never_opens_more_than_itself(value, prefix):
    outer = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | value)
    inner = ipaddress.IPv4Address(value)
    rules = AddressRules([f"{prefix}/96"])
    assert (rules.refusal(outer) is None) == (why_inner(inner) is None)


def test_named_network_opens_itself_and_nothing_beside_it():
    rules = AddressRules(["10.1.0.0/16"])
    assert rules.refusal(parse_address("10.1.2.3")) is None
    assert rules.refusal(parse_address("10.2.0.1"))
    assert rules.refusal(parse_address("::ffff:10.1.2.3"))


SPELLINGS = [
    *("127.1", "127.0.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1"),
    *("0", "0x0", "127。0。0。1", "127.0.0.1.", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "%31%32%37.0.0.1"),
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25eth0]", "169.254.169.254"),
    *("0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "10.5", "100.64.1", "224.1"),
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_every_spelling_of_an_inner_address_is_refused(host):
    with pytest.raises(NetError) as caught:
        target(f"http://{host}/", NetPolicy())
    assert caught.value.code in {"net.address_refused", "net.url_invalid"}


@pytest.mark.parametrize("url", ["http://example.com@127.0.0.1/", "http://u:pa55@example.com/"])
def test_credentials_in_an_address_are_refused_and_not_repeated(url):
    with pytest.raises(NetError) as caught:
        target(url, NetPolicy())
    assert caught.value.code == "net.credentials_in_url"
    assert "pa55" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "data:text/html,x", "ftp://a.com/", "gopher://a/", "ws://a.com/"],
)
def test_other_schemes_are_refused(url):
    with pytest.raises(NetError) as caught:
        target(url, NetPolicy())
    assert caught.value.code == "net.scheme_refused"


def test_backslash_and_tab_do_not_move_the_host():
    assert target("http://a.com\\@127.0.0.1/", NetPolicy()).host == "a.com"
    for url in ("http:\\\\127.0.0.1/", "http://127.0.0.1\t/"):
        with pytest.raises(NetError):
            target(url, NetPolicy())


def test_name_in_other_letters_is_judged_in_its_ascii_form():
    policy = NetPolicy(deny=["xn--e1afmkfd.example"])
    with pytest.raises(NetError) as caught:
        target("http://пример.example./", policy)
    assert caught.value.code == "net.host_refused"
    assert target("http://EXAMPLE.com.:80/a/../b", policy).url == "http://example.com/b"


def test_address_that_is_too_long_is_refused():
    with pytest.raises(NetError):
        target("http://" + "a" * 300 + ".com/", NetPolicy())
    with pytest.raises(NetError):
        target("http://a.com/" + "a" * 9000, NetPolicy())


@pytest.mark.parametrize("port", [22, 25, 6379, 11211])
def test_port_of_another_service_is_refused(port):
    with pytest.raises(NetError) as caught:
        target(f"http://example.com:{port}/", NetPolicy())
    assert caught.value.code == "net.port_refused"


def test_proxy_needs_the_word_that_it_resolves():
    with pytest.raises(ValueError, match="proxy_resolves"):
        NetPolicy(proxy="environment")


@pytest.mark.parametrize(
    "table", [{"deadlin": 3}, {"deadline": "3"}, {"http2": 1}, {"allow": "x"}]
)
def test_settings_that_are_wrong_are_named(table):
    with pytest.raises(
        ValueError, match=next(iter(table))[:5] if "x" not in table.values() else "list"
    ):
        NetPolicy.from_table(table)


FORMS_OF_ONE = [
    *("93.184.216.34", "1572395042", "0x5db8d822", "0135.0270.0330.042", "93.12113954"),
    *("[::ffff:93.184.216.34]", "[::ffff:5db8:d822]", "[64:ff9b::5db8:d822]"),
    *("[64:ff9b::93.184.216.34]", "[64:ff9b:1::5db8:d822]", "[2002:5db8:d822::1]"),
    *("[::93.184.216.34]", "[::ffff:0:5db8:d822]", "[2606:4700::5efe:5db8:d822]"),
    *("93.184.216.34.", "\uff19\uff13.184.216.34", "93%2E184.216.34"),
]


@pytest.mark.parametrize("form", FORMS_OF_ONE)
@pytest.mark.parametrize("denied", ["93.184.216.34", "93.184.0.0/16", "::ffff:93.184.216.34"])
def test_denied_address_is_denied_in_every_form(form, denied):
    """What policy denies stays denied, however it is written and whatever allows it."""
    everything = ["0.0.0.0/0", "::/0"]
    target(f"http://{form}/", NetPolicy(allow=everything))
    with pytest.raises(NetError) as caught:
        target(f"http://{form}/", NetPolicy(allow=everything, deny=[denied]))
    assert caught.value.code == "net.host_refused"


def test_denied_address_is_denied_behind_a_name_that_policy_allows():
    """A name that leads to it opens it no more than its own spelling does."""
    rules = NetPolicy(allow=["wiki.corp"], deny=["10.0.0.5"])
    assert rules.address_refusal(parse_address("10.0.0.5"), "wiki.corp")
    assert rules.address_refusal(parse_address("64:ff9b::a00:5"), "wiki.corp")
    assert rules.address_refusal(parse_address("10.0.0.6"), "wiki.corp") is None


@pytest.mark.parametrize("host", ["%2561.test", "a%25.test", "%25%36%31.test", "127%252e0.0.1"])
def test_name_that_is_encoded_twice_is_no_name(host):
    """A host is decoded once; what is still encoded then is refused, not decoded again."""
    with pytest.raises(NetError) as caught:
        target(f"http://{host}/", NetPolicy())
    assert caught.value.code == "net.url_invalid"


def test_path_that_is_encoded_twice_stays_what_it_is():
    """``%2561`` is the text ``%61`` and never the letter it would be if decoded again."""
    assert target("http://a.test/%2561dmin", NetPolicy()).path == "/%2561dmin"
    assert target("http://a.test/%61dmin", NetPolicy()).path == "/admin"
