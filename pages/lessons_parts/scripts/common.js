// What all pictures share: drawing, handles that are dragged or moved by keys, sliders.

// COLORS, INKS to write on them, MUTED and HIGHLIGHT come from where the program has its colours.
const NAMESPACE = "http://www.w3.org/2000/svg";

// An SVG element with its attributes and children.
function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// An HTML element with its properties and children.
function html(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Build the picture anew where its data are new; its own state is in `box.state`.
function fresh({ parentElement, data }, build) {
  const box = parentElement.querySelector(".picture");
  const now = JSON.stringify(data);
  if (box.shown === now) return;
  box.shown = now;
  box.state ??= {};
  box.classList.toggle("presenting", data.presenting);
  box.replaceChildren();
  build(box, data);
}

const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
const points = places => places.map(place => place.map(x => x.toFixed(4)).join(",")).join(" ");

// A frame of `width` by `height` around (0, 0) or from `left`, `top` on; y points down.
function frame(box, data, left, top, width, height, label) {
  const made = svg("svg", {
    viewBox: `${left} ${top} ${width} ${height}`,
    preserveAspectRatio: "xMidYMid meet",
    role: "group",
    "aria-label": label,
  });
  // As wide as there is room, and no higher than its shape asks for or the window allows.
  made.style.aspectRatio = `${width} / ${height}`;
  made.style.maxHeight = data.height;
  box.append(made);
  return made;
}

// Where the pointer is, in the units of the picture.
function place(area, event) {
  const found = new DOMPoint(event.clientX, event.clientY).matrixTransform(
    area.getScreenCTM().inverse()
  );
  return [found.x, found.y];
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// A handle: `moved(x, y)` is called while it is dragged and for each arrow key (with Shift five
// times as far), `left()` when it is let go. Returns the group, to be put in its place by `put`.
function handle(area, label, radius, step, where, moved, left, ...marks) {
  const group = svg(
    "g",
    { class: "handle", tabindex: 0, role: "slider", "aria-label": label },
    svg("circle", { class: "ring", r: radius * 1.7, "vector-effect": "non-scaling-stroke" }),
    ...marks
  );
  group.addEventListener("pointerdown", event => {
    event.preventDefault();
    group.focus({ preventScroll: true });
    group.setPointerCapture(event.pointerId);
    group.onpointermove = next => moved(...place(area, next));
  });
  const end = () => {
    if (!group.onpointermove) return;
    group.onpointermove = null;
    left();
  };
  group.addEventListener("pointerup", end);
  group.addEventListener("pointercancel", end);
  group.addEventListener("keydown", event => {
    const way = ARROWS[event.key];
    if (!way) return;
    event.preventDefault();
    const [x, y] = where(), far = step * (event.shiftKey ? 5 : 1);
    moved(x + far * way[0], y + far * way[1]);
    group.changed = true;
  });
  const settled = () => {
    if (group.changed) left();
    group.changed = false;
  };
  group.addEventListener("keyup", settled);
  group.addEventListener("blur", settled);
  area.append(group);
  return group;
}

const put = (group, x, y) => group.setAttribute("transform", `translate(${x} ${y})`);

// A slider with its name and its value in words.
function slider(row, name, least, most, step, value, words, input, change) {
  const output = html("output", { textContent: words(value) });
  const range = html("input", { type: "range", min: least, max: most, step, value });
  range.setAttribute("aria-label", name);
  const tell = () => range.setAttribute("aria-valuetext", (output.textContent = words(+range.value)));
  tell();
  range.oninput = () => {
    tell();
    input(+range.value);
  };
  range.onchange = () => change(+range.value);
  row.append(html("label", {}, name, range, output));
  return {
    range,
    set(next) {
      range.value = next;
      tell();
    },
  };
}

// Solve a small system of linear equations; null where it has no single solution.
function solve(matrix, right) {
  const n = right.length;
  const rows = matrix.map((row, i) => [...row, right[i]]);
  for (let i = 0; i < n; i++) {
    let best = i;
    for (let j = i + 1; j < n; j++) if (Math.abs(rows[j][i]) > Math.abs(rows[best][i])) best = j;
    if (Math.abs(rows[best][i]) < 1e-12) return null;
    [rows[i], rows[best]] = [rows[best], rows[i]];
    for (let j = 0; j < n; j++) {
      if (j === i) continue;
      const factor = rows[j][i] / rows[i][i];
      for (let k = i; k <= n; k++) rows[j][k] -= factor * rows[i][k];
    }
  }
  return rows.map((row, i) => row[n] / row[i]);
}

// All choices of some of n things, the empty one left out.
function choices(n) {
  const found = [];
  for (let bits = 1; bits < 1 << n; bits++) {
    found.push([...Array(n).keys()].filter(i => bits & (1 << i)));
  }
  return found;
}
