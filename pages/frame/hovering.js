if (!window.tellsMeanings) {
  window.tellsMeanings = true;
  const terms = TERMS;
  const words = Object.keys(terms).sort((one, other) => other.length - one.length)
    .map(word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  // A script is thrown away in which something looks like the beginning of a tag.
  const pattern = new RegExp(`(?\u003c![\\p{L}\\p{N}-])(${words.join("|")})(?:s|es)?(?![\\p{L}\\p{N}])`, "giu");
  // Sentences and small print; not what is typed, drawn or pressed.
  const SENTENCES = "[data-testid=stMarkdownContainer] p, [data-testid=stMarkdownContainer] li, [data-testid=stCaptionContainer] p";
  const OUT = "button, a, input, textarea, [role=tab], [role=option], label, h1, h2, h3, #meaning, [class*='st-key-own_texts']";

  const underline = () => {
    if (!CSS.highlights) return;
    const ranges = [], seen = new Set();
    for (const block of document.querySelectorAll(SENTENCES)) {
      if (block.closest(OUT)) continue;
      const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (const found of node.data.matchAll(pattern)) {
          const word = found[1].toLowerCase();
          if (seen.has(word)) continue; // once on a page; the pointer finds them everywhere
          seen.add(word);
          const range = new Range();
          range.setStart(node, found.index);
          range.setEnd(node, found.index + found[0].length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("terms", new Highlight(...ranges));
  };
  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(underline, 250); };
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true, characterData: true });
  soon();

  const box = document.createElement("div");
  box.id = "meaning";
  box.setAttribute("role", "tooltip");
  box.hidden = true;
  document.body.append(box);
  const under = (x, y) => {
    let node, offset;
    if (document.caretPositionFromPoint) {
      const at = document.caretPositionFromPoint(x, y);
      [node, offset] = at ? [at.offsetNode, at.offset] : [];
    } else if (document.caretRangeFromPoint) {
      const at = document.caretRangeFromPoint(x, y);
      [node, offset] = at ? [at.startContainer, at.startOffset] : [];
    }
    if (!node || node.nodeType !== Node.TEXT_NODE) return null;
    const block = node.parentElement.closest(SENTENCES);
    if (!block || node.parentElement.closest(OUT)) return null;
    for (const found of node.data.matchAll(pattern)) {
      if (found.index <= offset && offset <= found.index + found[0].length) {
        const range = new Range();
        range.setStart(node, found.index);
        range.setEnd(node, found.index + found[0].length);
        const place = [...range.getClientRects()].find(r => x >= r.left - 2 && x <= r.right + 2 && y >= r.top - 2 && y <= r.bottom + 2);
        if (place) return [terms[found[1].toLowerCase()], place];
      }
    }
    return null;
  };
  const show = (x, y) => {
    const found = under(x, y);
    box.hidden = !found;
    if (!found) return;
    const [{ name, about }, place] = found, heading = document.createElement("b");
    heading.textContent = name;
    box.replaceChildren(heading, about);
    const { width, height } = box.getBoundingClientRect();
    box.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8))}px`;
    const below = place.bottom + 6;
    box.style.top = `${below + height > innerHeight ? place.top - height - 6 : below}px`;
  };
  // Where the pointer rests is looked at once more after it, or the page under it, has moved.
  let pointer = null, pending = 0;
  const look = () => { pending = 0; if (pointer) show(...pointer); };
  const point = event => {
    pointer = [event.clientX, event.clientY];
    pending ||= setTimeout(look, 60);
  };
  addEventListener("pointermove", point, { passive: true });
  addEventListener("click", point, { passive: true });
  addEventListener("scroll", () => {
    box.hidden = true;
    clearTimeout(pending);
    pending = setTimeout(look, 150);
  }, { passive: true, capture: true });
  addEventListener("keydown", event => {
    if (event.key === "Escape") { pointer = null; box.hidden = true; }
  });
}
