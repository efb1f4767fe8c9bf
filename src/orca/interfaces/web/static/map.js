// The map: points of the REST API as circles (messages) and diamonds (memories), coloured by session or kind.

const SIZE = 1000;
const MARGIN = 40;
const COLOURS = 8;
const SVG = "http://www.w3.org/2000/svg";

const figure = document.getElementById("map");
if (figure) draw(figure);

async function draw(figure) {
  const wait = figure.querySelector("[data-wait]");
  let points;
  try {
    const answer = await fetch(figure.dataset.source);
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.detail);
    points = found.items;
  } catch (error) {
    wait.textContent = figure.dataset.failed.replace("…", error.message);
    return;
  }
  if (!points.length) {
    wait.textContent = figure.dataset.empty;
    return;
  }
  wait.remove();
  const words = JSON.parse(figure.dataset.words);
  const bySession = figure.dataset.color === "session";
  const nameOf = (point) => (bySession ? point.session ?? figure.dataset.none : words[point.group] ?? point.group);
  const classes = ranked(points.map(nameOf));
  const svg = create("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, preserveAspectRatio: "none", tabindex: 0, role: "application" });
  svg.setAttribute("aria-labelledby", "map-about");
  const shown = points.map((point) => {
    const mark = shape(point);
    mark.classList.add("point", `c${classes.get(nameOf(point))}`);
    svg.append(mark);
    return { point, mark, name: nameOf(point) };
  });
  figure.prepend(svg);
  legend(figure, classes, shown);
  explore(figure, svg, shown, words);
  const fit = () => stretch(svg, shown);
  new ResizeObserver(fit).observe(svg);
  fit();
}

function create(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function shape(point) {
  if (point.record === "message") return create("circle", { r: 5 });
  return create("path", { d: "M0 -8 8 0 0 8 -8 0Z" });
}

/** Place the marks in the pixels that there are, so that a wide figure does not stretch them. */
function stretch(svg, shown) {
  const { width, height } = svg.getBoundingClientRect();
  if (!width || !height) return;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const low = { x: Infinity, y: Infinity };
  const high = { x: -Infinity, y: -Infinity };
  for (const { point } of shown) {
    for (const axis of ["x", "y"]) {
      low[axis] = Math.min(low[axis], point[axis]);
      high[axis] = Math.max(high[axis], point[axis]);
    }
  }
  const at = (value, axis, size) =>
    MARGIN + ((value - low[axis]) / (high[axis] - low[axis] || 1)) * (size - 2 * MARGIN);
  for (const { point, mark } of shown) {
    mark.setAttribute("transform", `translate(${at(point.x, "x", width).toFixed(1)} ${at(point.y, "y", height).toFixed(1)})`);
  }
}

/** Number the names by how often they occur; those beyond the colours share the last one. */
function ranked(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  return new Map(order.map((name, place) => [name, Math.min(place, COLOURS - 1)]));
}

function legend(figure, classes, shown) {
  const list = figure.querySelector("#map-legend");
  for (const [name, place] of classes) {
    const button = document.createElement("button");
    const swatch = document.createElement("span");
    swatch.className = `swatch c${place}`;
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(swatch, name.slice(0, 60));
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      for (const each of shown) if (each.name === name) each.mark.classList.toggle("off", !on);
    });
    const item = document.createElement("li");
    item.append(button);
    list.append(item);
  }
}

function explore(figure, svg, shown, words) {
  const about = figure.querySelector("#map-about");
  const target = ({ record, id }) => {
    const query = new URLSearchParams();
    if (document.body.dataset.user !== "default") query.set("user", document.body.dataset.user);
    const text = String(query);
    return `/${record === "message" ? "messages" : "memories"}/${id}${text ? `?${text}` : ""}`;
  };
  let at = -1;
  const show = (place) => {
    shown[at]?.mark.classList.remove("at");
    at = place;
    const { point, mark } = shown[at];
    mark.classList.add("at");
    const what = point.record === "message" ? figure.dataset.message : figure.dataset.memory;
    about.textContent = `${what} ${point.id} · ${words[point.group] ?? point.group} · ${point.session ?? figure.dataset.none}: ${point.label}`;
  };
  shown.forEach(({ point, mark }, place) => {
    mark.addEventListener("pointerenter", () => show(place));
    mark.addEventListener("click", () => location.assign(target(point)));
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      show((at + step + shown.length) % shown.length);
    } else if (event.key === "Enter" && at >= 0) {
      location.assign(target(shown[at].point));
    }
  });
}
