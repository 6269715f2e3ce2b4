/* A document: the label is chosen, passages are pointed at with mouse, finger or keys, and the strip leads to them.
   Numbers come from attributes, words of documents and labels are only ever set as text. */

const tip = document.getElementById("tip");
const FAINT = 0.05;
const LEVELS = 5;

/* Shading is relative to the strongest passage, or to what is loud if that is more. */
function level(weight, { strongest, loud }) {
  if (weight === null || Math.abs(weight) <= FAINT * strongest) return 0;
  return Math.min(LEVELS, Math.ceil((LEVELS * Math.abs(weight)) / Math.max(strongest, loud)));
}

function line(...parts) {
  const made = document.createElement("div");
  made.append(...parts);
  return made;
}

function wrapped(name, words) {
  const made = document.createElement(name);
  made.textContent = words;
  return made;
}

class Explained {
  constructor(article) {
    this.article = article;
    this.text = article.querySelector(".text");
    this.survey = survey(this.text);
    const packed = article.querySelector("data.weights")?.value ?? "";
    this.units = packed ? packed.split(",").map(() => []) : [];
    for (const mark of this.survey.marks.keys()) {
      mark.unit = mark.dataset.u === undefined ? this.units.push([]) - 1 : Number(mark.dataset.u);
      this.units[mark.unit].push(mark);
      mark.note = mark.title;
      mark.removeAttribute("title");
      mark.tabIndex = -1;
    }
    const numbers = (told) => told.split(",");
    this.chunks = numbers(article.dataset.chunks);
    this.pages = numbers(article.dataset.pages);
    this.labels = [...article.querySelectorAll("data.weights")].map((data, place) => {
      const weights = numbers(data.value).map((each) => (each === "" ? null : Number(each)));
      const section = article.querySelector(`.ranking[data-view="${place}"]`);
      const strongest = weights.reduce((most, weight) => Math.max(most, Math.abs(weight || 0)), 0);
      const loud = Number(data.dataset.loud);
      const order = [...weights.keys()].filter((unit) => level(weights[unit], { strongest, loud }));
      order.sort((one, other) => Math.abs(weights[other]) - Math.abs(weights[one]));
      const { name, after, rises, falls, fallsAfter } = data.dataset;
      return { name, after, rises, falls, fallsAfter, weights, strongest, loud, section, order };
    });
    this.strip = new Strip(article.querySelector(".strip"), this.survey, (place, reach) => this.near(place, reach));
    this.current = null;
    this.rover = this.units[0]?.[0];
    if (this.rover) this.rover.tabIndex = 0;
    this.listen();
    const chosen = article.querySelector(".choice input:checked");
    if (this.labels.length) this.choose(chosen ? Number(chosen.value) : 0);
    else this.strip.draw([...this.survey.marks.values()].map(([start, end]) => [start, end, null]),
      `${this.units.length} marked parts of the text`);
  }

  choose(number) {
    const label = (this.label = this.labels[number]);
    this.labels.forEach((each) => (each.section.hidden = each !== label));
    const bars = [];
    for (const [mark, [start, end]] of this.survey.marks) {
      if (mark.dataset.u === undefined) continue;
      const weight = label.weights[mark.unit];
      const strength = level(weight, label);
      const side = weight > 0 ? "for" : "against";
      mark.className = strength ? `passage ${side} level-${strength}` : "passage";
      delete mark.dataset.rank;
      if (strength) bars.push([start, end, weight > 0 ? strength : -strength]);
    }
    label.section.querySelectorAll(".ranked.leads [data-go]").forEach((link, place) => {
      this.units[link.dataset.go][0].dataset.rank = place + 1;
    });
    const places = label.order.slice(0, 3).map((unit) => {
      const [start] = this.survey.marks.get(this.units[unit][0]);
      return `${Math.round((100 * start) / this.strip.total)} %`;
    });
    const where = places.length ? `strongest at ${places.join(", ")} of the text` : "none stands out";
    this.strip.draw(bars, `Where the evidence for ${label.name}${label.after} sits: ${where}`);
    hide();
  }

  listen() {
    const { article, text } = this;
    article.addEventListener("change", (event) => {
      if (event.target.matches(".choice input")) this.choose(Number(event.target.value));
    });
    article.addEventListener("click", (event) => {
      const link = event.target.closest("[data-go], [data-span]");
      const step = event.target.closest("[data-step]");
      if (step) return this.step(Number(step.dataset.step));
      if (!link) return undefined;
      event.preventDefault();
      const number = link.dataset.go ?? this.unitOfSpan(link.dataset.span);
      return this.select(Number(number));
    });
    text.addEventListener("click", (event) => {
      const mark = event.target.closest("mark");
      if (mark) this.select(mark.unit, mark, false);
    });
    text.addEventListener("pointerover", (event) => {
      const mark = event.target.closest("mark");
      if (mark && event.pointerType !== "touch") this.tell(mark);
    });
    text.addEventListener("pointerout", (event) => {
      if (event.pointerType !== "touch" && !event.relatedTarget?.closest?.("#tip")) hide();
    });
    text.addEventListener("focusin", (event) => {
      if (event.target.matches("mark")) this.tell(event.target);
    });
    text.addEventListener("focusout", hide);
    text.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity };
      const step = steps[event.key];
      if (step === undefined || !event.target.matches("mark") || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.select(Math.min(this.units.length - 1, Math.max(0, event.target.unit + step)));
    });
  }

  unitOfSpan(number) {
    return this.units.findIndex(([mark]) => (mark?.dataset.s ?? "").split(" ").includes(number));
  }

  /* The next passage by strength, from the one that was reached last. */
  step(by) {
    const { order } = this.label;
    if (!order.length) return;
    const at = order.indexOf(this.current);
    const next = at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length;
    this.select(order[next]);
  }

  /* From the strip: the strongest passage within reach of a place, or just the place. */
  near(place, reach) {
    let best = null;
    let size = 0;
    let nearest = null;
    let distance = Infinity;
    for (const [mark, [start, end]] of this.survey.marks) {
      const away = Math.max(start - place, place - end, 0);
      const strength = this.label ? Math.abs(this.label.weights[mark.unit] || 0) : 1;
      if (away <= reach && strength > size) [best, size] = [mark, strength];
      if (away < distance) [nearest, distance] = [mark, away];
    }
    const target = best || nearest;
    if (target) this.select(target.unit, target);
    else this.survey.paragraphs.findLast(({ start }) => start <= place)?.element.scrollIntoView({ block: "center" });
  }

  select(unit, mark = this.units[unit]?.[0], scroll = true) {
    if (!mark) return;
    this.article.querySelectorAll("mark.current").forEach((each) => each.classList.remove("current"));
    this.units[unit].forEach((each) => each.classList.add("current"));
    this.current = unit;
    this.rover.tabIndex = -1;
    mark.tabIndex = 0;
    this.rover = mark;
    if (scroll) mark.scrollIntoView({ block: "center" });
    mark.focus({ preventScroll: true });
    this.tell(mark);
  }

  tell(mark) {
    tip.replaceChildren(...(mark.dataset.u === undefined ? [line(mark.note)] : this.words(mark.unit)));
    if (tip.mark) tip.mark.removeAttribute("aria-describedby");
    tip.mark = mark;
    mark.setAttribute("aria-describedby", "tip");
    tip.hidden = false;
    place();
  }

  words(unit) {
    const { label } = this;
    const weight = label.weights[unit];
    const number = (value) => (value < 0 ? "\u2212" : "+") + (Math.abs(value) < 0.0005 && value ? Math.abs(value).toPrecision(1) : Math.abs(value).toFixed(3));
    const rank = label.order.indexOf(unit) + 1;
    const ranked = rank ? `, strength ${rank} of ${label.order.length}` : ", faint";
    const page = this.pages[unit] && `page ${this.pages[unit].replace("-", " to ")}`;
    const chunk = this.chunks[unit] && `chunk ${this.chunks[unit]}`;
    const says = weight === null ? "says nothing of " : weight > 0 ? label.rises : label.falls;
    const after = weight === null || weight > 0 ? label.after : label.fallsAfter;
    const first = line(wrapped("b", weight === null ? "" : `${number(weight)} `), says, wrapped("bdi", label.name), after);
    const where = [`part ${unit + 1} of ${label.weights.length}${ranked}`, chunk, page].filter(Boolean);
    const others = this.labels.filter((each) => each !== label && level(each.weights[unit], each));
    return [
      first,
      line(where.join(" · ")),
      ...others.slice(0, 4).map((each) => line(`${number(each.weights[unit])} `, wrapped("bdi", each.name), each.after)),
    ];
  }
}

function hide() {
  tip.hidden = true;
  tip.mark?.removeAttribute("aria-describedby");
}

/* Beside the first line of the mark, inside the window. */
function place() {
  if (tip.hidden || !tip.mark) return;
  const first = tip.mark.getClientRects()[0];
  if (!first) return;
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, first.left), document.documentElement.clientWidth - box.width - 8);
  const above = first.top - box.height - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 8 ? first.bottom + 10 : above}px`;
}

addEventListener("scroll", place, { passive: true });
addEventListener("resize", place, { passive: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
});
document.documentElement.classList.add("js");
document.querySelectorAll("article.document").forEach((article) => new Explained(article));
