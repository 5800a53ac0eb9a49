"use strict";
// Text is inserted as text only; the page makes no requests.
(async () => {
  const unpacked = async id => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const notice = document.getElementById("told");
  let content;
  try {
    content = JSON.parse(await unpacked("content"));
    const program = document.createElement("script");
    program.textContent = await unpacked("plotly");
    document.head.append(program);
  } catch (error) {
    notice.textContent = "The pictures cannot be opened here: this browser is too old, or the file is damaged. The sentences and tables below are whole.";
    return;
  }

  // Selection in the toolbox, in local storage if the browser allows it.
  const fresh = () => ({ runs: content.runs.map(r => ({ name: r.name, color: r.color, shown: true })), modes: content.modes.map(m => m.name), search: "", picked: [] });
  const place = "report " + content.id;
  let chosen = fresh();
  try {
    const stored = JSON.parse(localStorage.getItem(place));
    if (stored && stored.runs.length === chosen.runs.length && stored.modes.length === chosen.modes.length) chosen = stored;
  } catch (error) { /* a file may have no storage */ }
  const keep = () => { try { localStorage.setItem(place, JSON.stringify(chosen)); } catch (error) { /* likewise */ } };

  const make = (tag, values = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), values);
    element.append(...children);
    return element;
  };
  const save = (name, type, parts) => {
    const link = make("a", { href: URL.createObjectURL(new Blob(parts, { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const cell = value => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text; // no formula for a spreadsheet
    return /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = table => [table.columns, ...table.rows].map(row => row.map(cell).join(",")).join("\n") + "\n";

  const names = { runs: new Map(content.runs.map((r, i) => [r.name, i])), modes: new Map(content.modes.map((m, i) => [m.name, i])) };
  const renamed = text => {
    if (names.runs.has(text)) return chosen.runs[names.runs.get(text)].name;
    if (names.modes.has(text)) return chosen.modes[names.modes.get(text)];
    return text;
  };

  // The table of all factorizations.
  const all = content.factorizations;
  const at = Object.fromEntries(all.columns.map((column, i) => [column.key, i]));
  const numeric = all.columns.map((_, c) => all.rows.some(row => typeof row[c] === "number"));
  let order = { column: -1, down: false };
  const shownRow = row => chosen.runs[row[at.run]].shown;
  const asText = (row, c) => c === at.run ? chosen.runs[row[c]].name : c === at.mode ? chosen.modes[row[c]] : row[c] === null ? "" : String(row[c]);
  const marked = () => {
    const search = chosen.search.trim().toLowerCase(), found = new Set(chosen.picked);
    if (search) all.rows.forEach((row, i) => { if ([at.run, at.mode, at.particle].some(c => asText(row, c).toLowerCase() === search) || [at.run, at.mode].some(c => asText(row, c).toLowerCase().includes(search))) found.add(i); });
    return found;
  };
  const median = values => {
    const sorted = values.filter(v => typeof v === "number").sort((a, b) => a - b), half = sorted.length >> 1;
    return !sorted.length ? null : sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  const short = (value, key) => typeof value === "number" && key === "log_joint" ? value.toFixed(1) : typeof value === "number" ? String(Number(value.toPrecision(5))) : value ?? "";
  const counted = new Set(["error", "log_joint", "movement", "kkt", "seconds"]);
  const head = document.querySelector("#factorizations thead tr"), body = document.querySelector("#factorizations tbody");
  const drawTable = () => {
    head.replaceChildren(...all.columns.map((column, c) => {
      const sorts = make("button", { textContent: column.label + (order.column === c ? (order.down ? " ▾" : " ▴") : ""), onclick: () => { order = { column: c, down: order.column === c && !order.down }; drawTable(); } });
      return make("th", { className: numeric[c] && c !== at.run && c !== at.mode ? "number" : "", scope: "col" }, sorts);
    }));
    const rows = all.rows.map((row, i) => [row, i]).filter(([row]) => shownRow(row));
    if (order.column >= 0) {
      const c = order.column, words = c === at.run;
      rows.sort(([a], [b]) => (words ? asText(a, c).localeCompare(asText(b, c)) : (a[c] ?? Infinity) - (b[c] ?? Infinity)) * (order.down ? -1 : 1));
    }
    const found = marked();
    const middle = make("tr", { className: "median" }, ...all.columns.map((column, c) => make("td", { className: numeric[c] ? "number" : "", textContent: c === 0 ? `median of ${rows.length}` : counted.has(column.key) ? short(median(rows.map(([row]) => row[c])), column.key) : "" })));
    body.replaceChildren(middle, ...rows.map(([row, i]) => {
      const line = make("tr", { className: found.has(i) ? "marked" : "", tabIndex: 0, onclick: () => pick(i) }, ...all.columns.map((column, c) => make("td", { className: numeric[c] && c !== at.run && c !== at.mode ? "number" : "", textContent: c === at.run || c === at.mode ? asText(row, c) : short(row[c], column.key) })));
      line.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(i); } };
      return line;
    }));
  };
  const pick = i => { chosen.picked = chosen.picked.includes(i) ? chosen.picked.filter(j => j !== i) : [...chosen.picked, i]; redraw(); };

  // Figures.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Pixels that a sheet of paper has between its margins.
  const PAPER = 680;
  const drawn = [];
  const ground = paper => {
    const ink = dark.matches && !paper ? "#e6e9ec" : "#1b2430", line = dark.matches && !paper ? "#363d45" : "#e3e8ec";
    return { ink, line };
  };
  const figureOf = (picture, paper = false) => {
    const figure = structuredClone(picture.figure), { ink, line } = ground(paper), found = marked();
    figure.data.forEach((trace, t) => {
      const run = picture.runs[t], rows = picture.members[t];
      if (trace.name) trace.name = renamed(trace.name);
      if (run !== null) {
        const now = chosen.runs[run], was = content.runs[run];
        trace.visible = now.shown;
        if (trace.name) trace.name = trace.name.replace(was.name, now.name);
        if (trace.hovertemplate) trace.hovertemplate = trace.hovertemplate.replaceAll(was.label, now.name.replaceAll("&", "&amp;").replaceAll("<", "&lt;"));
        for (const part of [trace.marker, trace.line]) if (part && part.color === was.color) part.color = now.color;
      }
      if (rows && found.size) {
        trace.selectedpoints = rows.flatMap((row, i) => row.some(one => found.has(one)) ? [i] : []);
        trace.selected = { marker: { opacity: 1, size: 13 } };
        // Grey and small: where many lie on top of each other, faint ones are strong together.
        trace.unselected = { marker: { opacity: 0.1, size: 4, color: "#98a2ab" } };
      }
    });
    const layout = figure.layout;
    for (const words of layout.annotations ?? []) words.text = renamed(words.text);
    for (const key of Object.keys(layout)) if (/^[xy]axis/.test(key)) {
      if (layout[key].ticktext) layout[key].ticktext = layout[key].ticktext.map(renamed);
      layout[key] = { gridcolor: line, zerolinecolor: line, ...layout[key] };
    }
    Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true, dragmode: "zoom" });
    layout.font = { ...layout.font, color: ink };
    return figure;
  };
  const drawFigures = (paper = false) => Promise.all(drawn.map(([picture, place]) => {
    const figure = figureOf(picture, paper);
    if (paper) Object.assign(figure.layout, { width: PAPER, autosize: false });
    return Plotly.react(place, figure.data, figure.layout, { displaylogo: false, responsive: true, showSendToCloud: false, modeBarButtonsToRemove: ["autoScale2d"] });
  }));
  content.pictures.forEach((picture, i) => {
    const figure = document.getElementById(`picture_${i}`), place = figure.querySelector(".drawn"), buttons = figure.querySelector(".buttons");
    if (picture.figure) {
      drawn.push([picture, place]);
      for (const format of ["svg", "png"]) buttons.append(make("button", { textContent: format.toUpperCase(), ariaLabel: `Save the picture as ${format.toUpperCase()}`, onclick: () => Plotly.downloadImage(place, { format, scale: 2, filename: picture.key }) }));
    }
    buttons.append(make("button", { textContent: "Data (CSV)", onclick: () => save(`${picture.key}.csv`, "text/csv", [csv(picture.table)]) }));
  });
  document.getElementById("all_csv").onclick = () => save("factorizations.csv", "text/csv", [csv({ columns: all.columns.map(c => c.label), rows: all.rows.map(row => row.map((value, c) => c === at.run || c === at.mode ? asText(row, c) : value)) })]);

  // Names that stand in sentences and tables.
  const named = [...document.querySelectorAll("[data-run], [data-mode]")];
  const redraw = () => {
    keep();
    for (const element of named) {
      const run = element.dataset.run, mode = element.dataset.mode;
      if (mode !== undefined) element.textContent = chosen.modes[mode];
      if (run !== undefined) {
        element.textContent = chosen.runs[run].name;
        const row = element.closest("tr");
        if (row) row.hidden = !chosen.runs[run].shown;
      }
    }
    drawTable();
    return drawFigures();
  };

  // The toolbox.
  const toolbox = document.getElementById("toolbox"), opener = document.getElementById("open_toolbox");
  const fill = () => {
    const search = make("input", { type: "search", value: chosen.search, placeholder: "a run, a mode, a number", ariaLabel: "Highlight", oninput: () => { chosen.search = search.value; redraw(); } });
    const rows = content.runs.map((run, i) => make("div", { className: "row" },
      make("input", { type: "checkbox", checked: chosen.runs[i].shown, ariaLabel: `Show ${run.name}`, onchange: event => { chosen.runs[i].shown = event.target.checked; redraw(); } }),
      make("input", { type: "color", value: chosen.runs[i].color, ariaLabel: `Colour of ${run.name}`, onchange: event => { chosen.runs[i].color = event.target.value; redraw(); } }),
      make("input", { type: "text", value: chosen.runs[i].name, ariaLabel: `Name of ${run.name}`, onchange: event => { chosen.runs[i].name = event.target.value || run.name; redraw(); } })));
    const modes = content.modes.slice(0, 12).map((mode, i) => make("div", { className: "row" }, make("input", { type: "text", value: chosen.modes[i], ariaLabel: `Name of ${mode.name}`, onchange: event => { chosen.modes[i] = event.target.value || mode.name; redraw(); } })));
    toolbox.replaceChildren(
      make("div", { className: "row" }, make("strong", { textContent: "Toolbox" }), make("button", { textContent: "Close", onclick: () => show(false) })),
      make("fieldset", {}, make("legend", { textContent: "Highlight" }), make("p", { className: "soft", textContent: "Factorizations of a run or of a mode, or some that you click in the table." }), search),
      make("fieldset", {}, make("legend", { textContent: "Runs: show, colour, name" }), ...rows),
      make("fieldset", {}, make("legend", { textContent: "Names of modes" }), ...modes),
      make("button", { textContent: "As it was", onclick: () => { chosen = fresh(); fill(); redraw(); } }));
  };
  const show = open => { toolbox.classList.toggle("open", open); opener.ariaExpanded = String(open); if (open) toolbox.querySelector("input").focus(); else opener.focus(); };
  opener.onclick = () => show(!toolbox.classList.contains("open"));
  addEventListener("keydown", event => { if (event.key === "Escape" && toolbox.classList.contains("open")) show(false); });
  opener.hidden = false;

  addEventListener("beforeprint", () => drawFigures(true));
  addEventListener("afterprint", () => drawFigures());
  dark.addEventListener("change", () => drawFigures());
  fill();
  await redraw();
  notice.remove();
  document.body.dataset.ready = "yes";
})();
