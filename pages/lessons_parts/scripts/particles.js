// Five particles over a density of two numbers: their Stein weights, live.

export default function (component) {
  fresh(component, (box, data) => {
    const { sigma, length, exponent, least, most } = data;
    const logDensity = ([u, v]) => {
      const product = Math.exp(u + v);
      return -((1 - product) ** 2) / (2 * sigma * sigma) - Math.exp(u) - Math.exp(v) + u + v;
    };
    const slope = ([u, v]) => {
      const product = Math.exp(u + v), pull = ((1 - product) * product) / (sigma * sigma);
      return [pull - Math.exp(u) + 1, pull - Math.exp(v) + 1];
    };
    // The Stein kernel of inverse multiquadrics, one for each number.
    const kernel = (x, y) => {
      const s = slope(x), t = slope(y);
      let base = 0, rest = 0;
      for (const i of [0, 1]) {
        const away = x[i] - y[i], wide = 1 + (away / length) ** 2;
        base += wide ** exponent;
        rest += ((2 * exponent) / length ** 2) * wide ** (exponent - 1) *
          ((t[i] - s[i]) * away - 1 - 2 * (exponent - 1) * (1 - 1 / wide));
      }
      return ((s[0] * t[0] + s[1] * t[1]) * base + rest) / 2;
    };
    // argmin wᵀKw over w ≥ 0, Σw = 1, by all choices of particles that have a weight.
    const weigh = K => {
      let best = null;
      for (const chosen of choices(K.length)) {
        const z = solve(chosen.map(i => chosen.map(j => K[i][j])), chosen.map(() => 1));
        if (!z || z.some(value => !(value > -1e-12))) continue;
        const total = z.reduce((a, b) => a + b, 0);
        if (!best || 1 / total < best.value) {
          const weights = K.map(() => 0);
          chosen.forEach((i, k) => (weights[i] = z[k] / total));
          best = { value: 1 / total, weights };
        }
      }
      return best;
    };

    const [side, top, left] = [270, 4, 34];
    const area = frame(box, data, 0, 0, 720, 310, "Five particles and their weights");
    const at = ([u, v]) => [
      left + ((u - least) / (most - least)) * side,
      top + (1 - (v - least) / (most - least)) * side,
    ];
    const back = (x, y) => [
      clamp(least + ((x - left) / side) * (most - least), least, most),
      clamp(least + (1 - (y - top) / side) * (most - least), least, most),
    ];
    // The density, painted once.
    const cells = 90, canvas = html("canvas", { width: cells, height: cells });
    const context = canvas.getContext("2d"), image = context.createImageData(cells, cells);
    const heights = [];
    for (let j = 0; j < cells; j++) {
      for (let i = 0; i < cells; i++) {
        heights.push(logDensity(back(left + ((i + 0.5) / cells) * side, top + ((j + 0.5) / cells) * side)));
      }
    }
    const highest = Math.max(...heights);
    const blue = [1, 3, 5].map(i => parseInt(COLORS[0].slice(i, i + 2), 16));
    heights.forEach((height, i) =>
      image.data.set([...blue, 200 * Math.exp(height - highest)], 4 * i)
    );
    context.putImageData(image, 0, 0);
    area.append(
      svg("rect", {
        x: left, y: top, width: side, height: side, fill: "var(--st-secondary-background-color)",
      }),
      svg("image", { x: left, y: top, width: side, height: side, href: canvas.toDataURL() }),
      svg("text", { x: left + side / 2, y: top + side + 28, "text-anchor": "middle" }, "log a"),
      svg("text", { transform: `translate(12 ${top + side / 2}) rotate(-90)`, "text-anchor": "middle" }, "log w")
    );

    let places = (box.state.places ?? data.places).map(place => [...place]);
    const bars = places.map((_, k) => {
      const y = 40 + 44 * k;
      const bar = svg("rect", { x: 360, y, height: 24, rx: 3, fill: COLORS[k] });
      const caption = svg("text", { y: y + 17, class: "weight" });
      area.append(svg("text", { x: 340, y: y + 17 }, String(k + 1)), bar, caption);
      return { bar, caption };
    });
    const about = svg("text", { x: 340, y: 278, class: "discrepancy" });
    area.append(svg("text", { x: 340, y: 20, "font-weight": 700 }, "Stein weights"), about);

    const draw = () => {
      const K = places.map(x => places.map(y => kernel(x, y)));
      const { weights, value } = weigh(K);
      // Particles in one place are one: they share what that place is given.
      const same = (a, b) => a[0] === b[0] && a[1] === b[1];
      const shared = places.map(place => {
        const there = places.flatMap((other, k) => (same(place, other) ? [weights[k]] : []));
        return there.reduce((a, b) => a + b, 0) / there.length;
      });
      const equal = K.flat().reduce((a, b) => a + b, 0) / K.length ** 2;
      shared.forEach((weight, k) => {
        const text = `${(100 * weight).toFixed(1)}%`;
        bars[k].bar.setAttribute("width", 300 * weight);
        bars[k].caption.setAttribute("x", 368 + 300 * weight);
        bars[k].caption.textContent = text;
        handles[k].setAttribute("aria-valuetext", `weight ${text}`);
        put(handles[k], ...at(places[k]));
      });
      about.textContent =
        `discrepancy ${value.toPrecision(3)}; with equal weights ${equal.toPrecision(3)}`;
      box.state.places = places;
    };
    const send = () => component.setStateValue("places", places);
    const handles = places.map((_, k) =>
      handle(area, `Particle ${k + 1}`, 9, 6, () => at(places[k]), (x, y) => {
        places[k] = back(x, y);
        draw();
      }, send,
      svg("circle", { r: 9, fill: COLORS[k], stroke: "var(--st-background-color)", "stroke-width": 1.5 }),
      svg("text", { y: 4.5, "text-anchor": "middle", style: `fill: ${INKS[k]}; font-weight: 700` }, String(k + 1)))
    );
    const row = html("div", { className: "row" });
    const button = (words, act) => {
      const made = html("button", { type: "button", textContent: words });
      made.onclick = () => {
        act();
        draw();
        send();
      };
      row.append(made);
    };
    button("Put 5 where 4 is", () => (places[4] = [...places[3]]));
    button("Reset", () => (places = data.places.map(place => [...place])));
    box.append(row);
    draw();
  });
}
