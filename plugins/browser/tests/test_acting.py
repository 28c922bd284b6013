"""Acting on real pages: every action, and what came of it."""

from __future__ import annotations

import pytest

from toolcrib_net.testing import ok, reply


pytestmark = pytest.mark.peer

FORM = """<title>Form</title><form action="/sent" method="post">
<label>Name <input name="name"></label><label>Town <input name="town" value="Bonn"></label>
<label>Colour <select name="colour"><option value="r">Red</option>
<option value="b">Blue</option>
</select></label><label><input type="checkbox" name="news"> News</label>
<textarea aria-label="Note" name="note"></textarea><button>Send</button></form>
<div role="textbox" aria-label="Ed" contenteditable>old words</div>
<p id="out"></p><script>
const say = t => { document.getElementById('out').textContent = t; };
document.addEventListener('keydown', e => { if (e.ctrlKey && e.key === 'k') say('chord'); });
</script>"""


def test_several_fields_are_filled_in_one_call_and_sent(site, browser, text):
    """One call for the form, one for the button."""
    site.add("/", ok(FORM))
    site.add("/sent", lambda asked: ok(f"<h1>got {asked.body.decode()}</h1>"))

    async def scenario(me):
        await me.go(site.url("/"))
        fields = [
            {"ref": me.ref('"Name"'), "value": "Ada"},
            {"ref": me.ref('"Town"'), "value": "Ulm"},
            {"ref": me.ref('"Note"'), "value": "two\nlines"},
        ]
        filled = await me.act("fill", fields=fields)
        assert filled.ok, filled.text
        assert 'textbox "Name"' in text(filled)
        await me.look()
        chosen = await me.act("select", "Colour", options=["Blue"])
        assert chosen.ok, chosen.text
        await me.look()
        assert (await me.act("check", "checkbox")).ok
        await me.look()
        return await me.click('button "Send"')

    sent = browser.run(scenario)
    assert sent.ok
    assert "name=Ada&town=Ulm&colour=b&news=on&note=two" in site.asked[-1].body.decode()
    assert "the page went to" in text(sent)


def test_editable_elements_show_their_text_and_take_a_new_one(site, browser, text):
    """They are no form fields, and the tree alone leaves their text out."""
    site.add("/", ok(FORM))

    async def scenario(me):
        first = await me.go(site.url("/"))
        ref = me.ref('"Ed"')
        await me.act("fill", fields=[{"ref": ref, "value": "new words"}])
        return text(first), text(await me.look())

    first, after = browser.run(scenario)
    assert ": old words" in first
    assert ": new words" in after


def test_chords_keys_and_typing(site, browser, text):
    """Keys go where the focus is, or to the element that is named."""
    site.add("/", ok(FORM))

    async def scenario(me):
        await me.go(site.url("/"))
        assert "chord" in text(await me.act("press", key="Control+k"))
        await me.look()
        assert (await me.act("type", '"Name"', text="Bo")).ok
        await me.look()
        assert (await me.act("press", '"Name"', key="Backspace")).ok
        return text(await me.look())

    assert 'textbox "Name" [active]' in (shown := browser.run(scenario))
    assert ": B\n" in shown


MICE = """<title>Mice</title>
<button id="d">Twice</button><button id="c">Menu</button>
<div id="a" draggable="true" tabindex="0" role="button" aria-label="Source">source</div>
<div id="b" role="region" aria-label="Goal" style="height:80px">goal</div>
<div style="height:3000px"></div><p>end</p><p id="out">nothing</p><script>
const say = t => { document.getElementById('out').textContent = t; };
d.ondblclick = () => say('double');
c.oncontextmenu = e => { e.preventDefault(); say('context'); };
a.onmouseenter = () => { a.title = 'hovered'; };
b.ondragover = e => e.preventDefault();
b.ondrop = e => { e.preventDefault(); say('dropped'); };
addEventListener('scroll', () => say('scrolled ' + Math.round(scrollY)));
</script>"""


def test_double_and_right_click_hover_drag_and_scroll(site, browser, text):
    """What a mouse can do."""
    site.add("/", ok(MICE))

    async def scenario(me):
        await me.go(site.url("/"))
        assert "double" in text(await me.click("Twice", count=2))
        assert "context" in text(await me.click("Menu", button="right"))
        assert (await me.act("hover", "Source")).ok
        await me.look()
        dropped = await me.act("drag", "Source", to=me.ref("Goal"))
        assert "dropped" in text(dropped), text(dropped)
        await me.look()
        assert "scrolled" in text(await me.act("scroll", direction="down", amount=500))

    browser.run(scenario)


def test_upload_sends_files_of_the_workspace(site, browser, text):
    """To a file field, and through a chooser that a button opens."""
    (browser.root / "a.txt").write_text("from a file")
    site.add(
        "/",
        ok(
            '<input type="file" aria-label="File" onchange="show(this)"><button onclick="'
            "const i=document.createElement('input');i.type='file';i.onchange=()=>show(i);"
            'i.click()">Choose</button><p id="o">-</p><script>function show(i)'
            "{i.files[0].text().then(t=>{o.textContent='read '+i.files[0].name+': '+t})}"
            "</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        first = await me.act("upload", '"File"', paths=["a.txt"])
        assert first.ok, first.text
        shown = text(await me.look())
        await me.look()
        second = await me.act("upload", "Choose", paths=["a.txt"])
        assert second.ok, second.text
        return shown

    assert "read a.txt: from a file" in browser.run(scenario)


def test_frames_and_open_shadow_roots_are_reached(site, browser, text):
    """Elements in them have refs like all others."""
    site.add("/in", ok("<button onclick=\"this.textContent='pressed'\">Inner</button>"))
    site.add(
        "/",
        ok(
            '<iframe src="/in"></iframe><div id="h"></div><script>'
            "h.attachShadow({mode:'open'}).innerHTML="
            "'<button onclick=\"this.textContent=`touched`\">Shadow</button>'</script>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        await me.call("browser.wait", condition={"kind": "load"})
        await me.look()
        assert "pressed" in text(await me.click('"Inner"'))
        await me.look()
        assert "touched" in text(await me.click('"Shadow"'))

    browser.run(scenario)


def test_dialogs_are_answered_as_the_call_says_and_told(site, browser, text):
    """Dismissed unless the call accepts them."""
    site.add(
        "/",
        ok(
            "<button onclick=\"o.textContent=confirm('Sure?')\">Ask</button>"
            "<button onclick=\"o.textContent=prompt('Who?')\">Name</button><p id=o>-</p>"
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        no = await me.click('"Ask"')
        assert 'a dialog (confirm) "Sure?" was dismissed' in text(no)
        assert "dialog" in no.result.notes
        assert "false" in text(no)
        yes = await me.click('"Ask"', dialogs=True)
        assert "was accepted" in text(yes)
        assert "true" in text(yes)
        who = await me.click('"Name"', dialogs=True, dialog_text="Ada")
        assert ": Ada" in text(who)

    browser.run(scenario)


def test_downloads_become_artifacts_under_a_harmless_name(site, browser, text):
    """Whether by a link or by going there."""
    site.add("/", ok('<a href="/f">Get</a>'))
    site.add(
        "/f",
        reply(
            200,
            b"0123456789",
            [
                ("Content-Disposition", 'attachment; filename="../../evil.bin"'),
                ("Content-Type", "application/octet-stream"),
            ],
        ),
    )

    async def scenario(me):
        await me.go(site.url("/"))
        clicked = await me.click('"Get"')
        went = await me.go(site.url("/f"))
        for outcome in (clicked, went):
            assert outcome.ok, outcome.text
            (link,) = [b for b in outcome.result.content if b.type == "artifact"]
            assert (link.title, link.size) == ("evil.bin", 10)
            assert "downloaded" in outcome.result.notes
        return await me.session.artifacts.get(link.digest)

    assert browser.run(scenario) == b"0123456789"
