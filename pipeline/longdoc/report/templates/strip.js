"use strict";

/* The strip: a document from its beginning (above) to its end, and where its evidence sits. What speaks for a label
   reaches to the right, what speaks against it to the left, so that no colour is needed to tell them apart. */

const SVG = "http://www.w3.org/2000/svg";
const BINS = 240;

function shape(parent, name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return parent.appendChild(made);
}

/* Where every mark, page and unread part stands: characters from the beginning of the text. */
function survey(text) {
  const found = { marks: new Map(), pages: [], unread: [], paragraphs: [], length: 0 };
  for (const element of text.children) {
    const start = found.length;
    for (const node of element.childNodes) {
      const length = node.textContent.length;
      if (node.nodeName === "MARK") found.marks.set(node, [found.length, found.length + length]);
      else if (node.className === "page") found.pages.push(found.length);
      else if (node.className === "unread") found.unread.push([found.length, found.length + length]);
      found.length += length;
    }
    found.paragraphs.push({ element, start, length: found.length - start });
  }
  return found;
}

/* Neighbouring bins of one strength as one bar: [start, end, strength], in shares of the text. */
function merged(bins) {
  const bars = [];
  for (const [bin, strength] of [...bins].sort(([one], [other]) => one - other)) {
    const last = bars.at(-1);
    if (last && last[1] === bin && last[2] === strength) last[1] = bin + 1;
    else bars.push([bin, bin + 1, strength]);
  }
  return bars.map(([first, last, strength]) => [first / BINS, last / BINS, strength]);
}

class Strip {
  constructor(place, survey, goTo) {
    this.survey = survey;
    this.total = Math.max(1, survey.length);
    this.svg = shape(place, "svg", { viewBox: "0 0 100 1000", preserveAspectRatio: "none", role: "img" });
    this.bars = shape(this.svg, "g", {});
    for (const page of survey.pages.length < 120 ? survey.pages : []) {
      const y = this.height(page);
      shape(this.svg, "path", { class: "page-line", d: `M0 ${y}H12` });
    }
    this.view = shape(this.svg, "rect", { class: "view", x: 1, width: 98, y: 0, height: 0 });
    this.svg.addEventListener("click", (event) => {
      const box = this.svg.getBoundingClientRect();
      goTo(((event.clientY - box.top) / box.height) * this.total, this.total / BINS);
    });
    let waiting = false;
    const later = () => {
      if (!waiting) requestAnimationFrame(() => { waiting = false; this.follow(); });
      waiting = true;
    };
    addEventListener("scroll", later, { passive: true });
    addEventListener("resize", later, { passive: true });
    this.follow();
  }

  height(character) {
    return (1000 * character) / this.total;
  }

  /* Bars of [start, end, strength from -5 to 5]; a strength of null fills the width. */
  draw(bars, words) {
    this.bars.replaceChildren();
    for (const [start, end] of this.survey.unread) this.bar("unread", start, end, 0, 100);
    const bins = [new Map(), new Map()];
    for (const [start, end, strength] of bars) {
      if (strength === null) this.bar("bar-span", start, end, 14, 72);
      else {
        const side = bins[strength > 0 ? 0 : 1];
        const last = Math.max(start, end - 1);
        for (let bin = Math.floor((BINS * start) / this.total); bin <= Math.floor((BINS * last) / this.total); bin++)
          side.set(bin, Math.max(side.get(bin) || 0, Math.abs(strength)));
      }
    }
    for (const [first, last, strength] of merged(bins[0]))
      this.bar("for", first * this.total, last * this.total, 50, 9 * strength);
    for (const [first, last, strength] of merged(bins[1]))
      this.bar("against", first * this.total, last * this.total, 50 - 9 * strength, 9 * strength);
    this.svg.setAttribute("aria-label", words);
  }

  bar(style, start, end, x, width) {
    const y = this.height(start);
    shape(this.bars, "rect", { class: style, x, width, y, height: Math.max(2.5, this.height(end) - y) });
  }

  /* The frame around what is on the screen. */
  follow() {
    const [from, to] = [this.at(0), this.at(innerHeight)];
    this.view.setAttribute("visibility", to - from < this.total ? "visible" : "hidden");
    this.view.setAttribute("y", this.height(from));
    this.view.setAttribute("height", Math.max(4, this.height(to) - this.height(from)));
  }

  /* The character at a height of the window, as near as the shape of its paragraph tells. */
  at(y) {
    const { paragraphs } = this.survey;
    let [low, high] = [0, paragraphs.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (paragraphs[middle].element.getBoundingClientRect().bottom < y) low = middle + 1;
      else high = middle;
    }
    if (!paragraphs.length) return 0;
    const box = paragraphs[low].element.getBoundingClientRect();
    const share = box.height ? Math.min(1, Math.max(0, (y - box.top) / box.height)) : 0;
    return paragraphs[low].start + share * paragraphs[low].length;
  }
}
