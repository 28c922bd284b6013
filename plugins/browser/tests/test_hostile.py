"""Pages that want a press to be told of as something that it was not."""

from __future__ import annotations

import pytest

from toolcrib_net.testing import ok, reply


pytestmark = pytest.mark.peer

SWAPS = "onmouseenter=\"this.firstChild.data='Drop'\""
LOGS = "onclick=\"fetch('/log')\""

#: What a page's own code can do to the objects that other code in the page uses.
OVERWRITES = {
    "nothing": "",
    "listeners": """EventTarget.prototype.addEventListener = () => {};
        EventTarget.prototype.removeEventListener = () => {};
        window.addEventListener = () => {};""",
    "elements": """for (const name of ['getAttribute', 'closest', 'matches', 'checkVisibility',
          'querySelectorAll', 'getBoundingClientRect'])
          Element.prototype[name] = () => { throw new Error('no') };
        for (const [proto, name] of [[Node.prototype, 'textContent'], [Node.prototype,
          'childNodes'], [HTMLElement.prototype, 'innerText'], [Node.prototype, 'isConnected'],
          [CharacterData.prototype, 'data']])
          Object.defineProperty(proto, name, {get() { return 'Following' }, set() {}});
        window.getComputedStyle = () => ({content: '""'});""",
    "events": """for (const name of ['composedPath', 'preventDefault', 'stopPropagation',
          'stopImmediatePropagation']) Event.prototype[name] = () => [];
        Object.defineProperty(Event.prototype, 'isTrusted', {get() { return false }});
        Object.defineProperty(Event.prototype, 'type', {get() { return 'scroll' }});""",
    "texts": """JSON.stringify = () => '{"fields":[]}'; JSON.parse = () => ({});
        String.prototype.split = () => ['x']; RegExp.prototype.test = () => true;""",
    "lists": """Array.prototype.includes = () => true; Array.prototype.push = () => 0;
        Array.prototype[Symbol.iterator] = function* () {};
        Array.prototype.map = () => []; Array.prototype.join = () => 'x';""",
    "objects": """Object.defineProperty = () => {}; Object.keys = () => [];
        Object.getOwnPropertyDescriptor = () => ({get() {}}); Reflect.apply = () => true;
        Function.prototype.call = () => true; Function.prototype.bind = () => () => true;
        window.WeakSet = window.Set = window.Map = function () { return {} };""",
    "promises": """window.Promise = function () { return {then() {}} };
        window.Comment = function () { return document.body };
        window.requestIdleCallback = () => {};""",
    "console": """const said = console.debug;
        for (const name of ['debug', 'log', 'info']) console[name] = () => {};
        for (const name of ['pointerdown', 'click']) addEventListener(name, () => {
          for (const word of ['stopped', 'went', 'framed'])
            for (let n = 0; n < 100; n++)
              said('toolcrib ' + n.toString(16).padStart(32, '0') + ' ' + word);
        }, true);""",
}


def logs(site):
    """How often a page told that it was clicked."""
    return [asked.path for asked in site.asked].count("/log")


def page(button, script="", more=""):
    """A page whose own code runs before anything of ours."""
    return ok(f"<script>{script}</script>{button}{more}")


@pytest.mark.parametrize("what", list(OVERWRITES))
def test_press_that_was_stopped_is_told_so_whatever_the_page_overwrites(site, browser, what):
    """The element came to read differently as the mouse came."""
    button = f"<button {SWAPS} {LOGS}>Following</button>"
    # The element's own text is left to it, or it would not change.
    site.add("/", page(button, OVERWRITES[what].replace("'data'", "'nothing'")))

    outcome = browser.click(site.url("/"), '"Following"')
    assert (outcome.status, outcome.code) == ("failed", "browser.changed"), outcome
    assert '"Drop"' in outcome.text
    assert logs(site) == 0


@pytest.mark.parametrize("what", list(OVERWRITES))
def test_press_that_was_made_is_told_so_whatever_the_page_overwrites(site, browser, what):
    """Once, and as done."""
    site.add("/", page(f"<button {LOGS}>Following</button>", OVERWRITES[what]))
    site.add("/log", ok("x"))

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.click('"Following"')
        await me.call("browser.wait", condition={"kind": "load", "state": "networkidle"})
        return outcome

    outcome = browser.run(scenario)
    assert outcome.ok, outcome
    assert logs(site) == 1


@pytest.mark.parametrize("swaps", [True, False])
def test_names_of_elements_stand_in_for_nothing_of_ours(site, browser, swaps):
    """Forms have their fields as members, and documents their pictures."""
    swap = "onmouseenter=\"this.lastChild.lastChild.data='Drop'\"" if swaps else ""
    form = (
        "<form><input type=hidden name=childNodes><input type=hidden name=shadowRoot>it</form>"
    )
    button = f"<div role=button tabindex=0 {swap} {LOGS}>Following{form}</div>"
    site.add("/", page(button, more="<title>True title</title><img name=title>"))
    site.add("/log", ok("x"))

    async def scenario(me):
        went = await me.go(site.url("/"))
        return went, await me.click('"Following"')

    went, outcome = browser.run(scenario)
    assert went.result.structured["state"]["title"] == "True title"
    assert outcome.code == ("browser.changed" if swaps else None), outcome


SWALLOWED = {
    "the first event": ["pointerdown"],
    "all events": ["pointerdown", "mousedown", "pointerup", "mouseup", "click"],
}


@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("events", list(SWALLOWED))
def test_press_that_the_page_hid_from_the_watch_is_uncertain(site, browser, events, swaps):
    """Never ok, for the element may have been another one; never stopped, for it was not."""
    hides = f"""for (const name of {SWALLOWED[events]}) addEventListener(name, event => {{
        event.stopImmediatePropagation();
        if (name === 'pointerdown') fetch('/log'); }}, true);"""
    site.add("/", page(f"<button {SWAPS if swaps else ''}>Following</button>", hides))

    outcome = browser.click(site.url("/"), '"Following"')
    assert (outcome.status, outcome.code) == ("uncertain", "browser.unwatched"), outcome
    assert "Then" not in outcome.text


def test_press_that_a_page_made_up_is_not_taken_for_the_one_that_is_watched(site, browser):
    """It came while the element still read as it had, and another one followed."""
    feigns = "this.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));"
    swaps = f"onmouseenter=\"{feigns} this.firstChild.data='Drop'\""
    site.add("/", page(f"<button {swaps} {LOGS}>Following</button>"))

    outcome = browser.click(site.url("/"), '"Following"')
    assert (outcome.status, outcome.code) == ("failed", "browser.changed"), outcome
    assert logs(site) == 0


def test_press_that_was_stopped_is_told_so_although_the_page_went_on(site, browser):
    """The document that knows it is gone by the time of the answer."""
    leaves = "addEventListener('pointerdown', () => { location = '/next' }, true);"
    site.add("/", page(f"<button {SWAPS} {LOGS}>Following</button>", leaves))
    site.add("/next", ok("<p>next</p>"))

    outcome = browser.click(site.url("/"), '"Following"')
    assert (outcome.status, outcome.code) == ("failed", "browser.changed"), outcome
    assert logs(site) == 0


def test_press_that_led_to_another_document_is_told_as_made(site, browser):
    """What watched it is gone with its document, and said before what it saw."""
    site.add("/", ok("<a href=/next>Following</a>"))
    site.add("/next", ok("<p>next</p>"))

    outcome = browser.click(site.url("/"), '"Following"')
    assert outcome.ok, outcome
    assert outcome.result.structured["state"]["url"] == site.url("/next")


READINGS = {
    "a style": (
        "<style>.b,button:hover .a{display:none} button:hover .b{display:inline}</style>",
        "<button><span class=a>Keep</span><span class=b>Drop</span></button>",
    ),
    "generated text": (
        "<style>button::before{content:'Keep'} button:hover::before{content:'Drop'}</style>",
        "<button> it</button>",
    ),
    "an address": ("", "<a href=/keep onmouseenter=\"href='/drop'\">Keep</a>"),
    "a picture": ("", "<button onmouseenter=\"firstChild.alt='Drop'\"><img alt=Keep></button>"),
    "a label": (
        "<label for=c id=l>Keep</label>",
        "<input type=checkbox id=c onmouseenter=\"l.textContent='Drop'\">",
    ),
    "another's words": (
        "<p id=w>Keep</p>",
        "<button aria-labelledby=w onmouseenter=\"w.textContent='Drop'\"><img></button>",
    ),
    "a box": ("", "<input type=checkbox aria-label=Keep onmouseenter='checked = true'>"),
    "shadow": (
        "",
        """<x-a></x-a><script>document.querySelector('x-a').attachShadow({mode: 'open'}).
        innerHTML = `<button onmouseenter="textContent='Drop'">Keep</button>`</script>""",
    ),
    "a shadow of its own": (
        "",
        """<x-a role=button tabindex=0 aria-label=Keep></x-a><script>
        const e = document.querySelector('x-a');
        e.attachShadow({mode: 'open'}).innerHTML = '<p>it</p>';
        e.onmouseenter = () => { e.shadowRoot.firstChild.textContent = 'all' };</script>""",
    ),
    "what has no box": (
        "",
        """<button onmouseenter="firstChild.firstChild.data='Drop'"
        ><span style="display:contents">Keep</span></button>""",
    ),
    "a slot": (
        "",
        """<x-a role=button tabindex=0 aria-label=Keep><p>it</p></x-a><script>
        const e = document.querySelector('x-a');
        e.attachShadow({mode: 'open'}).innerHTML = '<slot></slot>';
        e.onmouseenter = () => { e.firstChild.textContent = 'all' };</script>""",
    ),
}


@pytest.mark.parametrize("way", list(READINGS))
def test_whatever_changes_how_an_element_reads_stops_the_press(site, browser, way):
    """Not only another text of its own."""
    before, element = READINGS[way]
    site.add("/", ok(before + element))
    site.add("/keep", ok("x"))
    site.add("/drop", ok("x"))

    outcome = browser.click(site.url("/"), "checkbox" if "checkbox" in element else "Keep")
    assert (outcome.status, outcome.code) == ("failed", "browser.changed"), outcome
    assert [asked.path for asked in site.asked if asked.path != "/favicon.ico"] == ["/"]


@pytest.mark.parametrize("where", ["same", "other"])
def test_press_in_a_frame_is_watched_in_the_frame(site, other, browser, where):
    """Also in a process of its own."""
    holder = site if where == "same" else other
    holder.add("/in", ok(f"<button {SWAPS} {LOGS}>Following</button>"))
    site.add("/", ok(f'<iframe src="{holder.url("/in")}"></iframe>'))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.look()
        stopped = await me.click('"Following"', frame_origin=holder.url(""))
        await me.look()
        return stopped, await me.click('"Drop"', frame_origin=holder.url(""))

    stopped, pressed = browser.run(scenario)
    assert (stopped.status, stopped.code) == ("failed", "browser.changed"), stopped
    assert pressed.ok, pressed


FRAMED = {
    "covered": "<div role=button tabindex=0 aria-label=Go>Go on {}</div>",
    "the frame itself": "{}",
    "shadow": "<x-a tabindex=0 role=button aria-label=Go></x-a><script>document.querySelector("
    "'x-a').attachShadow({{mode: 'open'}}).innerHTML = `Go on {}`</script>",
}


@pytest.mark.parametrize("way", list(FRAMED))
def test_press_that_could_land_in_a_frame_of_another_origin_is_not_made(
    site, other, browser, way
):
    """What is seen is the page's; what would be pressed is not."""
    other.add("/in", ok("<body onpointerdown=\"fetch('/log')\">"))
    frame = (
        f'<iframe src="{other.url("/in")}" title=Go '
        'style="position:absolute;left:0;width:8px;height:8px;opacity:0.01"></iframe>'
    )
    site.add("/", ok(FRAMED[way].format(frame)))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.look()
        return await me.click("iframe" if way == "the frame itself" else '"Go"')

    outcome = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.frame_inside"), outcome
    assert logs(other) == 0


def test_press_that_landed_in_a_frame_that_came_meanwhile_is_uncertain(site, other, browser):
    """It cannot be told beforehand, so it is told afterwards."""
    other.add("/in", ok("<body onpointerdown=\"fetch('/log')\">"))
    site.add(
        "/",
        ok(
            f"""<button {LOGS}>Go</button><script>
            document.querySelector('button').onmouseenter = () => {{
              const frame = document.createElement('iframe');
              frame.src = '{other.url("/in")}';
              frame.style = 'position:absolute;inset:0;width:100%;height:100%';
              document.body.append(frame);
            }}</script>"""
        ),
    )

    outcome = browser.click(site.url("/"), '"Go"')
    assert (outcome.status, outcome.code) == ("uncertain", "browser.unwatched"), outcome
    assert logs(site) == 0


def test_box_whose_label_swaps_is_not_checked(site, browser, text):
    """Setting a box is a press like any other."""
    site.add(
        "/",
        ok(
            "<label><input type=checkbox onmouseenter=\"w.textContent='Delete all'\">"
            "<span id=w>News</span></label><p id=o>off</p><script>document.querySelector("
            "'input').onchange = () => { o.textContent = 'on' }</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.act("check", "checkbox")
        return outcome, await me.look()

    outcome, seen = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.changed"), outcome
    assert ": off" in text(seen)


def test_box_that_is_as_it_is_wanted_needs_no_press(site, browser):
    """And so none that was watched."""
    site.add("/", ok("<input type=checkbox checked aria-label=News>"))

    async def scenario(me):
        await me.go(site.url("/"))
        return await me.act("check", "checkbox")

    assert browser.run(scenario).ok


def test_drag_of_an_element_that_swaps_is_not_begun(site, browser, text):
    """The press at its beginning is watched."""
    site.add(
        "/",
        ok(
            "<div role=button tabindex=0 onmouseenter=\"textContent='Payroll'\" "
            "onpointerdown=\"o.textContent='taken'\">Note</div>"
            "<p role=button tabindex=0>Bin</p><p id=o>-</p>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.act("drag", '"Note"', to=me.ref('"Bin"'))
        return outcome, await me.look()

    outcome, seen = browser.run(scenario)
    assert (outcome.status, outcome.code) == ("failed", "browser.changed"), outcome
    assert "taken" not in text(seen)


def test_pages_that_let_no_code_in_are_asked_all_the_same(site, browser):
    """What is asked of them stands under no policy of theirs."""
    policy = "default-src 'none'; require-trusted-types-for 'script'"
    site.add("/", ok("<button>Go</button><title>Shut</title>", Content_Security_Policy=policy))

    async def scenario(me):
        went = await me.go(site.url("/"))
        return went, await me.click('"Go"')

    went, clicked = browser.run(scenario)
    assert went.result.structured["state"]["title"] == "Shut"
    assert clicked.ok, clicked


def test_console_shows_nothing_of_ours(site, browser, text):
    """What watched a press said so there, under a number."""
    site.add("/", ok("<button onclick=\"console.log('the page')\">Go</button>"))

    async def scenario(me):
        await me.go(site.url("/"))
        await me.click('"Go"')
        return await me.call("browser.inspect", target={"kind": "console"})

    outcome = browser.run(scenario)
    assert outcome.result.structured["count"] == 1
    assert "the page" in text(outcome)
    assert "toolcrib" not in text(outcome)


def test_page_that_talks_without_end_is_listened_to_for_presses_only(site, browser):
    """And the next press is watched as the first one was."""
    talks = "for (let n = 0; n < 99; n++) console.log(n);"
    site.add(
        "/",
        ok(
            f"<button onclick='let r = 0; setInterval(() => {{ {talks}"
            " o.textContent = `round ${++r}.` }, 50)'>Talk</button><p id=o>-</p>"
            f"<button onmouseenter=\"{talks} this.firstChild.data='Drop'\">Following</button>"
            "<button>Last</button>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        first = await me.click('"Talk"')
        await me.call("browser.wait", condition={"kind": "text", "text": "round 20."})
        stopped = await me.click('"Following"')
        return first, stopped, await me.click('"Last"')

    first, stopped, last = browser.run(scenario)
    assert first.ok, first
    assert stopped.code == "browser.changed", stopped
    assert last.ok, last


def test_option_that_is_chosen_is_the_one_that_was_named(site, browser, text):
    """Whatever the page says of its lists to its own code."""
    lies = """Array.prototype.findIndex = () => 1; Array.prototype.map = () => [1];
        Object.defineProperty(HTMLSelectElement.prototype, 'options', {get() { return [] }});"""
    site.add(
        "/",
        page(
            "<select aria-label=Plan onchange='o.textContent = this.value'>"
            "<option>none<option>costly<option>free</select><p id=o>-</p>",
            lies,
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        return await me.act("select", "combobox", options=["free"])

    outcome = browser.run(scenario)
    assert outcome.ok, outcome
    assert ": free" in text(outcome)


def test_page_that_lies_about_what_it_holds_is_looked_at_all_the_same(site, browser):
    """A page without elements is asked why, and not by its own code."""
    lies = """Object.defineProperty(NodeList.prototype, 'length', {get() { return {} }});
        Document.prototype.querySelectorAll = () => { throw new Error('no') };"""
    site.add("/", page("<canvas></canvas>", lies))

    async def scenario(me):
        return await me.go(site.url("/"))

    outcome = browser.run(scenario)
    assert outcome.ok, outcome
    assert "canvas" in str(outcome.result.content)


def test_more_files_than_anybody_asked_for_are_not_kept(site, browser):
    """Those that began while the click was watched, and of these the first few."""
    site.add("/file", reply(200, "x", [("Content-Disposition", "attachment; filename=f.bin")]))
    site.add(
        "/",
        ok(
            '<button onclick="for (let n = 0; n < 30; n++) { const a = document.createElement('
            "'a'); a.href = '/file?' + n; a.download = ''; a.click(); }\">Go</button>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        outcome = await me.click('"Go"')
        await me.call("browser.wait", condition={"kind": "time", "ms": 300})
        return outcome

    outcome = browser.run(scenario)
    assert outcome.ok, outcome
    kept = [b for b in outcome.result.content if b.type == "artifact"]
    assert len(kept) <= 8, outcome.result.content
