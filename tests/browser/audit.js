// What a page is like for somebody who does not see it, sees few colours, or has no mouse.
// Elements are called by what stands in them, so that what is found is found again on the page.
window.audit = (() => {
  const everything = function* (root = document) {
    for (const element of root.querySelectorAll("*")) {
      yield element;
      if (element.shadowRoot) yield* everything(element.shadowRoot);
    }
  };
  const parent = element => element.parentElement || element.getRootNode().host || null;
  const ancestors = element => {
    const found = [];
    for (let at = element; at; at = parent(at)) found.push(at);
    return found;
  };
  const shown = element => {
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || box.right <= 0 || box.left >= innerWidth) return false;
    return element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const called = element => {
    const test = ancestors(element).map(at => at.dataset?.testid).find(Boolean) || "";
    const words = (element.getAttribute("aria-label") || element.textContent || "").trim();
    return `${test} ${element.tagName.toLowerCase()} “${words.slice(0, 50)}”`;
  };

  // Contrast as WCAG 2 defines it.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = css => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([red, green, blue, alpha], below) =>
    [red, green, blue].map((part, i) => part * alpha + below[i] * (1 - alpha));
  const ground = element => {
    const label = element.closest(".annotation")?.querySelector("rect.bg");
    const layers = [], box = element.getBoundingClientRect();
    if (label) {
      layers.push(rgba(getComputedStyle(label).fill));
      layers[0][3] *= getComputedStyle(label).fillOpacity;
    }
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    for (const at of ancestors(element)) {
      const place = at.getBoundingClientRect(), style = getComputedStyle(at);
      const outside = x < place.left || x > place.right || y < place.top || y > place.bottom;
      // What stands outside of a box is not on its ground, unless it is scrolled into it.
      if (outside && style.overflow === "visible" && at.parentElement?.parentElement) continue;
      layers.push(rgba(style.backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((below, color) => over(color, below), [255, 255, 255]);
  };
  const luminance = color => {
    const [red, green, blue] = color.map(part => part / 255)
      .map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  // Of a chart what stands on its ground; what is written on its marks has their colour behind it.
  // Black and white are ink on marks, see `ink` of the figures' style.
  const ON_MARKS = ".heatmap-label text, .bartext-inside, .slice text, .hovertext text, "
    + "[style*='fill: rgb(0, 0, 0)'], [style*='fill: rgb(255, 255, 255)'], "
    + "[style*='fill: #000000'], [style*='fill: #FFFFFF']";
  const MARK = /^[●✦◆]\s*$/; // a colour that is named beside it
  const ratio = element => {
    const style = getComputedStyle(element), drawn = element instanceof SVGElement;
    const color = rgba(drawn ? style.fill : style.color), behind = ground(element);
    if (drawn) color[3] *= Number(style.fillOpacity);
    for (const at of ancestors(element)) color[3] *= Number(getComputedStyle(at).opacity);
    return contrast(over(color, behind), behind);
  };
  const least = element => {
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    return large || /material/i.test(style.fontFamily) ? 3 : 4.5;
  };
  // What cannot be pressed now may be faint.
  const OFF = "[disabled], [aria-disabled=true], label:has(:disabled)";

  const faint = () => [...everything()].filter(element =>
    [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim())
    && !element.closest("script, style, noscript, head")
    && !element.closest(ON_MARKS) && !MARK.test(element.textContent)
    && shown(element) && !ancestors(element).some(at => at.matches(OFF))
    && !(element instanceof SVGElement && rgba(getComputedStyle(element).fill)[3] === 0)
    && ratio(element) < least(element)
  ).map(element => `${called(element)}: ${ratio(element).toFixed(2)}`);

  const headings = () => [...everything()].filter(element => /^H[1-6]$/.test(element.tagName))
    .filter(shown).map(element => Number(element.tagName[1]));

  const without_words = () => [...everything()].filter(element => shown(element)
    && element.matches("img:not([alt]), svg[role=img]:not([aria-label]), .picture svg:not([aria-label])")
  ).map(called);

  const charts = () => [...document.querySelectorAll("[data-testid=stPlotlyChart]")].filter(shown)
    .map(chart => ({ role: chart.getAttribute("role"), said: chart.getAttribute("aria-label") }));

  // The element in which keys arrive, also inside a shadow.
  const focused = () => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at === document.body ? null : at;
  };
  const USED = "a[href], button, input, select, textarea, summary, iframe, canvas[tabindex], "
    + "[role=button], [role=link], [role=checkbox], [role=radio], [role=slider], [role=tab], "
    + "[role=combobox], [role=switch], [role=option]";
  // Of these one is reached by Tab, and from it the others by arrow keys.
  const GROUPS = "[role=tablist], [role=radiogroup], [role=group], [role=toolbar]";
  const look = element => ancestors(element).slice(0, 8)
    .flatMap(at => [at, at.nextElementSibling, at.firstElementChild]).filter(Boolean)
    .map(at => getComputedStyle(at))
    .map(style => [style.outline, style.boxShadow, style.border, style.backgroundColor,
      style.color, style.stroke, style.strokeOpacity])
    .join();

  let used, before, reached, unseen;
  const begin = () => {
    document.activeElement?.blur();
    used = [...everything()].filter(element => element.matches(USED) && !element.matches(OFF)
      && element.checkVisibility({ visibilityProperty: true }));
    before = new Map(used.map(element => [element, look(element)]));
    [reached, unseen] = [new Set(), []];
    return used.length;
  };
  // After each press of Tab: whether the keys are still on the page.
  const soon = milliseconds => new Promise(done => setTimeout(done, milliseconds));
  const step = async () => {
    const at = focused();
    if (!at) return false;
    if (!reached.has(at) && before.has(at)) {
      const within = at.tagName === "IFRAME"; // which shows itself where the keys are
      const covered = () => ancestors(at).some(one => Number(getComputedStyle(one).opacity) < 0.5);
      const hidden = () => covered() || (before.get(at) === look(at) && !within);
      // A page that is busy marks it a moment later, and toolbars come up slowly.
      for (let i = 0; i < 100 && hidden(); i++) await soon(30);
      // What a chart that is drawn anew took away is nowhere to be seen.
      if (at.isConnected && hidden()) unseen.push(called(at));
    }
    reached.add(at);
    return true;
  };
  const arrived = element => reached.has(element)
    || [...reached].some(at => at.closest(GROUPS)?.contains(element))
    || [...reached].some(at => at.type === "radio" && at.name === element.name);
  const walked = () => ({
    missed: used.filter(element => element.isConnected && !arrived(element)).map(called),
    unseen,
  });

  // On paper: what is wider than it, in pixels of the page.
  const cut = () => [...everything()].filter(element => element.matches("svg, img, table, h1, h2, p")
    && shown(element) && element.getBoundingClientRect().right > document.body.clientWidth + 1)
    .map(called);

  return { faint, headings, without_words, charts, begin, step, walked, cut };
})();
