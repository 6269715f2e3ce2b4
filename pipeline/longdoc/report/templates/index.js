"use strict";

/* The list is sorted by the heading that was pressed and filtered by what the form says. */

const form = document.querySelector(".filters");
const body = document.querySelector("tbody");
const rows = [...body.rows].map((row) => ({
  row,
  id: row.cells[1].textContent.toLowerCase(),
  labels: row.dataset.labels.split(" "),
  status: row.dataset.status,
}));
const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function filter() {
  const wanted = Object.fromEntries(new FormData(form));
  const id = wanted.id.trim().toLowerCase();
  let shown = 0;
  for (const each of rows) {
    const fits = each.id.includes(id) && (!wanted.label || each.labels.includes(wanted.label))
      && (!wanted.status || each.status === wanted.status);
    each.row.hidden = !fits;
    shown += fits;
  }
  form.querySelector("output").textContent = `${shown} of ${rows.length} shown`;
}

/* Numbers begin with the greatest, words with the first; what is empty comes last either way. */
function sort(button) {
  const heading = button.parentElement;
  const column = heading.cellIndex;
  const numeric = button.dataset.sort === "number";
  const before = heading.getAttribute("aria-sort");
  const falling = before === "none" ? numeric && column > 0 : before === "ascending";
  for (const each of heading.parentElement.cells) each.setAttribute("aria-sort", "none");
  heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const keyed = rows.map(({ row }) => [row.cells[column].textContent, row]);
  const compare = numeric ? (one, other) => parseFloat(one) - parseFloat(other) : words.compare;
  keyed.sort(([one], [other]) => {
    if (one === "" || other === "") return (one === "") - (other === "");
    return falling ? compare(other, one) : compare(one, other);
  });
  body.append(...keyed.map(([, row]) => row));
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(filter));
document.querySelectorAll("thead button").forEach((button) => button.addEventListener("click", () => sort(button)));
document.documentElement.classList.add("js");
filter();
