// What is asked of a page from within, in a world of its own: the same document, but none of
// the page's objects. No code of the page can reach what is held here, nor change what the
// functions here do; only names of elements can stand in for members of forms and of the
// document, so those are taken from their prototypes.
(() => {
  const method = (proto, name) => {
    const called = proto[name];
    return (object, ...values) => Reflect.apply(called, object, values);
  };
  const getter = (proto, name) => {
    const {get} = Object.getOwnPropertyDescriptor(proto, name);
    return object => Reflect.apply(get, object, []);
  };
  const listenTo = method(EventTarget.prototype, 'addEventListener');
  const listenNoMore = method(EventTarget.prototype, 'removeEventListener');
  const attribute = method(Element.prototype, 'getAttribute');
  const setAttribute = method(Element.prototype, 'setAttribute');
  const removeAttribute = method(Element.prototype, 'removeAttribute');
  const matches = method(Element.prototype, 'matches');
  const visible = method(Element.prototype, 'checkVisibility');
  const closest = method(Element.prototype, 'closest');
  const box = method(Element.prototype, 'getBoundingClientRect');
  const rooted = method(Node.prototype, 'getRootNode');
  const childNodes = getter(Node.prototype, 'childNodes');
  const textContent = getter(Node.prototype, 'textContent');
  const connected = getter(Node.prototype, 'isConnected');
  const title = getter(Document.prototype, 'title');
  const contentType = getter(Document.prototype, 'contentType');
  const body = getter(Document.prototype, 'body');
  const innerText = getter(HTMLElement.prototype, 'innerText');
  const every = {
    [true]: method(Document.prototype, 'querySelectorAll'),
    [false]: method(Element.prototype, 'querySelectorAll'),
  };
  const inShadow = method(DocumentFragment.prototype, 'querySelectorAll');
  const all = (root, css) =>
    root instanceof DocumentFragment ? inShadow(root, css)
      : every[root instanceof Document](root, css);
  const shadow = e => e.shadowRoot instanceof ShadowRoot ? e.shadowRoot : null;
  const words = value => typeof value === 'string' ? value : '';

  // -- fields ----------------------------------------------------------------------------

  const FIELDS = 'input, textarea, [contenteditable], [role=textbox]';
  const MOST = 2000;
  // A field that was for a password stays one, also while the page shows what it holds.
  const passwords = new WeakSet();
  let found = [];

  const valueOf = e =>
    words(e.isContentEditable === true ? innerText(e) : e.value).slice(0, 4096);
  const typeOf = e => {
    const type = words(e.type).slice(0, 40);
    if (type === 'password') passwords.add(e);
    return passwords.has(e) ? 'password' : type;
  };
  const facts = e => ({
    tag: words(e.tagName).toLowerCase(),
    type: typeOf(e),
    auto: words(attribute(e, 'autocomplete')).slice(0, 200),
    editable: e.isContentEditable === true,
    names: [
      ...[e.name, attribute(e, 'id'), attribute(e, 'aria-label'), e.placeholder],
      ...[attribute(e, 'title'), ...labelsOf(e)],
    ].map(words).filter(name => name).map(name => name.slice(0, 200)),
  });
  const labelsOf = e =>
    e.labels instanceof NodeList ? [...e.labels].slice(0, 3).map(textContent) : [];
  const survey = () => {
    found = [];
    let more = false;
    const told = [];
    const walk = root => {
      for (const e of all(root, FIELDS)) {
        typeOf(e);
        const value = valueOf(e);
        if (!value && e.isContentEditable !== true) continue;
        if (told.length === MOST) { more = true; return; }
        told.push({at: found.push(e) - 1, value, ...facts(e)});
      }
      for (const e of all(root, '*')) if (shadow(e)) walk(shadow(e));
    };
    walk(document);
    return {title: words(title(document)), fields: told, more};
  };
  // For the time in which a page is printed.
  let covered = [];
  const uncover = () => {
    for (const [e, style] of covered)
      if (style === null) removeAttribute(e, 'style'); else setAttribute(e, 'style', style);
    covered = [];
  };
  const cover = places => {
    uncover();
    for (const place of places.split('.')) {
      const e = found[place];
      if (!e || !(e.style instanceof CSSStyleDeclaration)) continue;
      covered.push([e, attribute(e, 'style')]);
      e.style.setProperty('-webkit-text-security', 'disc', 'important');
    }
  };
  const options = e => e instanceof HTMLSelectElement
    ? [...e.options].slice(0, 5000).map(option =>
      [words(option.value), words(option.label) || words(option.text)])
    : [];
  const opaque = () => ({
    canvas: all(document, 'canvas').length,
    video: all(document, 'video').length,
    embed: all(document, 'embed, object').length,
    text: body(document) instanceof HTMLElement ? innerText(body(document)).trim().length : 0,
    type: contentType(document),
  });

  // -- presses ---------------------------------------------------------------------------

  const PRESSES = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'auxclick',
    'contextmenu', 'dblclick'];
  const NAMING = ['aria-label', 'alt', 'placeholder', 'aria-checked', 'aria-pressed'];
  const FRAMES = 'iframe, frame, object, embed, fencedframe';
  const LETTERS = /[\p{L}\p{N}]/u;

  // What has no box of its own, as a slot, may hold what is seen.
  const shown = e => visible(e, {visibilityProperty: true})
    || getComputedStyle(e).display === 'contents';
  // How an element reads: what is visible of it, and what names it.
  const reading = e => {
    const read = [];
    let left = 300;
    const say = (...said) => read.push(...said.map(words).filter(text => text.trim()));
    const visit = node => {
      if (left-- <= 0) return;
      if (node instanceof Text) { say(node.data); return; }
      if (!(node instanceof Element)) return;
      if (node !== e && !shown(node)) return;
      for (const name of NAMING) say(attribute(node, name));
      if (node instanceof HTMLInputElement) {
        say(node.type, node.checked ? 'checked' : '');
        if (['submit', 'button', 'reset'].includes(node.type)) say(node.value);
      }
      for (const place of ['::before', '::after']) {
        const {content} = getComputedStyle(node, place);
        if (content.startsWith('"') && LETTERS.test(content)) say(content);
      }
      const slotted = node instanceof HTMLSlotElement ? node.assignedNodes() : [];
      const inner = shadow(node) ? childNodes(shadow(node))
        : slotted.length ? slotted : childNodes(node);
      for (const child of inner) visit(child);
    };
    visit(e);
    if (left < 0) say(textContent(e).slice(0, 20000));
    const link = closest(e, 'a, area');
    if (link) say(words(link.href) || attribute(link, 'href'));
    for (const name of words(attribute(e, 'aria-labelledby')).split(/\s+/).slice(0, 8)) {
      const label = name && all(rooted(e), `[id=${CSS.escape(name)}]`)[0];
      if (label) say(textContent(label).slice(0, 2000));
    }
    say(...labelsOf(e).map(text => text.slice(0, 2000)));
    if (!read.length) say(attribute(e, 'title'));
    return read.join('\u0000').replace(/\s+/g, ' ');
  };
  // Whether a press could land in another document.
  const framed = e => {
    const lands = frame => {
      const {width, height} = box(frame);
      return width > 0 && height > 0 && visible(frame, {visibilityProperty: true})
        && getComputedStyle(frame).pointerEvents !== 'none';
    };
    const inside = root => [...all(root, FRAMES)].some(lands)
      || [...all(root, '*')].some(each => shadow(each) && inside(shadow(each)));
    return matches(e, FRAMES) || inside(e) || (shadow(e) !== null && inside(shadow(e)));
  };

  let end = () => {};
  const arm = (e, number) => {
    // One that a cancelled call left behind must not stop the press of another.
    end();
    const tell = word => console.debug(`toolcrib ${number} ${word}`);
    if (framed(e)) tell('framed');
    const before = reading(e);
    const holder = closest(e, 'button, [role=button], a, [role=link]') || e;
    let stopped = false;
    const listen = event => {
      if (!event.isTrusted) return;
      if (!stopped) {
        const path = event.composedPath();
        if (event.type !== 'pointerdown') return;
        if (!path.includes(e) && !path.includes(holder)) return;
        stopped = !connected(e) || reading(e) !== before;
        tell(stopped ? 'stopped' : 'went');
        if (!stopped) { end(); return; }
      }
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    for (const name of PRESSES) listenTo(window, name, listen, true);
    end = () => {
      for (const name of PRESSES) listenNoMore(window, name, listen, true);
    };
  };

  const active = getter(Document.prototype, 'activeElement');

  const answers = {
    facts,
    options,
    uncover: () => { uncover(); return null; },
    opaque,
    // A press is over by the time of a look.
    survey: () => { end(); return survey(); },
    end: () => { end(); return null; },
  };
  return {
    queryAll(root, wish) {
      const [what, value] = wish.split(' ');
      if (what === 'arm') { arm(root, value); return [root]; }
      if (what === 'cover') { cover(value); return [new Comment('null')]; }
      if (what === 'focus') {
        const e = active(document);
        return e && matches(e, FRAMES) ? [e] : [];
      }
      if (what === 'field') return found[value] ? [found[value]] : [];
      return [new Comment(JSON.stringify(answers[what](root)))];
    },
  };
})()
