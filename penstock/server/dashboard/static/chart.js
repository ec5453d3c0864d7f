// Draws what a table beside it says. Without this script the table is there; with it, one can point at the drawing.
const NS = "http://www.w3.org/2000/svg";
const HEIGHT = 150, TOP = 8, BOTTOM = 20, LEFT = 52, RIGHT = 6;

const svg = (name, attributes = {}, ...children) => {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

function shown(value, unit) {
  if (value == null) return "–";
  if (unit === "s") return value < 1 ? `${compact.format(value * 1000)} ms` : value < 120 ? `${compact.format(value)} s` : `${compact.format(value / 60)} min`;
  return compact.format(value) + (unit === "%" ? " %" : "");
}

// 1, 2 or 5 times a power of ten
function step(most) {
  const rough = Math.max(most, 1e-9) / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
}

class Chart extends HTMLElement {
  static observedAttributes = ["data-points"];
  #drawing = null;
  #size = new ResizeObserver(() => this.#draw());

  connectedCallback() {
    if (!this.#drawing) {
      this.#drawing = document.createElement("div");
      this.#drawing.className = "drawing";
      this.#drawing.setAttribute("data-drawn", "");
      this.prepend(this.#drawing);
      this.addEventListener("pointermove", (event) => this.#point(event));
      this.addEventListener("pointerleave", () => this.#point(null));
    }
    this.#size.observe(this);
    this.#draw();
  }

  disconnectedCallback() { this.#size.disconnect(); }
  attributeChangedCallback() { if (this.#drawing) this.#draw(); }

  #draw() {
    const { times, series } = JSON.parse(this.dataset.points);
    const { kind, unit, title } = this.dataset;
    const width = Math.max(220, this.clientWidth);
    const sums = times.map((_, at) => series.reduce((sum, each) => sum + (each.values[at] ?? 0), 0));
    const most = Math.max(0, ...(kind === "bars" ? sums : series.flatMap((each) => each.values.map((value) => value ?? 0))));
    // bars are counts: there is no half of one
    const tick = Math.max(kind === "bars" ? 1 : 0, step(most || (unit === "s" ? 0.1 : 1)));
    const top = Math.max(tick, Math.ceil(most / tick) * tick);
    const inner = { width: width - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };
    const slot = inner.width / Math.max(1, times.length - (kind === "bars" ? 0 : 1));
    const x = (at) => LEFT + at * slot + (kind === "bars" ? slot / 2 : 0);
    const y = (value) => TOP + inner.height * (1 - value / top);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": this.#told(series, unit, title) });
    for (let value = 0; value <= top * 1.001; value += tick) {
      picture.append(
        svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
        svg("text", { class: "axis", x: LEFT - 6, y: y(value) + 3.5, "text-anchor": "end" }, shown(value, unit)),
      );
    }
    const said = (time) => (time.length <= 10 || times.length * 2 > 300 && times[0].slice(0, 10) !== times.at(-1).slice(0, 10) ? time.slice(5, 10) : time.slice(11, 16));
    const labels = Math.min(times.length, Math.max(2, Math.floor(width / 110)));
    for (let label = 0; label < labels; label++) {
      const at = labels > 1 ? Math.round((label * (times.length - 1)) / (labels - 1)) : 0;
      const anchor = label === 0 ? "start" : label === labels - 1 ? "end" : "middle";
      if (times[at]) picture.append(svg("text", { class: "axis", x: x(at), y: HEIGHT - 5, "text-anchor": anchor }, said(times[at])));
    }
    if (kind === "bars") this.#bars(picture, series, times, slot, x, y);
    else series.forEach((each, place) => this.#line(picture, each, place, kind, x, y));
    const cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, x1: -9, x2: -9 });
    picture.append(cursor);
    const legend = document.createElement("p");
    legend.className = "legend";
    const heading = document.createElement("b");
    heading.textContent = title;
    legend.append(heading);
    const values = series.map((each) => {
      const item = document.createElement("span");
      item.className = `series tone-${each.tone}`;
      const value = document.createElement("span");
      value.className = "num";
      item.append(svg("svg", { viewBox: "0 0 10 10", width: 10, height: 10 }, svg("rect", { width: 10, height: 10, rx: 2 })), `${each.name} `, value);
      legend.append(item);
      return value;
    });
    const when = document.createElement("time");
    when.className = "num muted";
    legend.append(when);
    this.#drawing.replaceChildren(legend, picture);
    this.#pointed = (at) => {
      const last = at == null ? times.length - 1 : at;
      series.forEach((each, index) => { values[index].textContent = shown(each.values[last], unit); });
      when.textContent = at == null ? "" : times[at].slice(5);
      cursor.setAttribute("x1", at == null ? -9 : x(at));
      cursor.setAttribute("x2", at == null ? -9 : x(at));
    };
    this.#at = (across) => Math.max(0, Math.min(times.length - 1, Math.round((across - LEFT - (kind === "bars" ? slot / 2 : 0)) / slot)));
    this.#pointed(null);
  }

  #pointed = () => {};
  #at = () => 0;

  #point(event) {
    const box = this.#drawing.querySelector(":scope > svg")?.getBoundingClientRect();
    if (!event || !box || event.clientY < box.top || event.clientY > box.bottom) return this.#pointed(null);
    this.#pointed(this.#at(event.clientX - box.left));
  }

  #told(series, unit, title) {
    const now = series.map((each) => `${each.name} ${shown(each.values.at(-1), unit)}`);
    return `${title}, over time. Last: ${now.join(", ")}.`;
  }

  #line(picture, { values, tone }, place, kind, x, y) {
    let path = "", pen = "M";
    values.forEach((value, at) => {
      if (value == null) { pen = "M"; return; }
      path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      // a line needs two
      if (values[at - 1] == null && values[at + 1] == null) picture.append(svg("circle", { class: `point tone-${tone}`, cx: x(at), cy: y(value), r: 2 }));
    });
    if (!path) return;
    if (kind === "area") {
      const area = `M${x(0)} ${y(0)}` + values.map((value, at) => `L${x(at).toFixed(1)} ${y(value ?? 0).toFixed(1)}`).join("") + `L${x(values.length - 1)} ${y(0)}Z`;
      picture.append(svg("path", { class: `area tone-${tone}`, d: area }));
    }
    picture.append(svg("path", { class: `line line-${place} tone-${tone}`, d: path }));
  }

  #bars(picture, series, times, slot, x, y) {
    const width = Math.max(1, slot - (slot > 4 ? 2 : 0.5));
    times.forEach((_, at) => {
      let below = 0;
      for (const { values, tone } of series) {
        const value = values[at];
        if (!value) continue;
        const height = Math.max(1, y(0) - y(value));
        picture.append(svg("rect", { class: `bar tone-${tone}`, x: x(at) - width / 2, width, y: y(below) - height, height, rx: Math.min(1.5, width / 3) }));
        below += value;
      }
    });
  }
}

customElements.define("penstock-chart", Chart);
