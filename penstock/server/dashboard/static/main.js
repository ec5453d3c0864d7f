// What every page has: live regions, dialogs, the theme, the keyboard, times that pass.
import "./chart.js";
import "./live.js";
import { tick } from "./times.js";

const root = document.documentElement;

for (const button of document.querySelectorAll("[data-theme-switch]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const chosen = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
    root.dataset.theme = chosen;
    try { localStorage.setItem("penstock-theme", chosen); } catch { /* for this page, then */ }
  });
}

// a browser without a viewer of PDF, as most phones have it, would save the file instead
function hidePdf() {
  if (!navigator.pdfViewerEnabled) for (const preview of document.querySelectorAll("[data-pdf]")) preview.hidden = true;
}
hidePdf();
document.addEventListener("penstock-shown", hidePdf);

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  if (event.target.closest("[data-closes]")) event.target.closest("dialog")?.close();
  if (event.target instanceof HTMLDialogElement) event.target.close(); // beside it
  const copier = event.target.closest("[data-copies]");
  if (copier) navigator.clipboard?.writeText(copier.dataset.copies).then(() => {
    copier.classList.add("done");
    setTimeout(() => copier.classList.remove("done"), 1200);
  });
});

// What is selected in a table, and what can be done with it.
const picked = document.getElementById("change");

function count() {
  if (!picked) return;
  for (const row of document.querySelectorAll("tr[data-gone]:not(:has(:checked))")) row.remove();
  for (const table of document.querySelectorAll(".card:has(> table):not(:has(tbody tr))")) table.remove();
  const all = document.querySelectorAll("input[name=ids][form=change]");
  const many = [...all].filter((each) => each.checked).length;
  for (const box of document.querySelectorAll("[data-picks=change]")) {
    box.checked = many > 0 && many === all.length;
    box.indeterminate = many > 0 && many < all.length;
  }
  picked.querySelector(".label").textContent = many ? `${many} selected` : "Select jobs to change them";
  for (const button of picked.querySelectorAll("button")) button.disabled = !many;
}

document.addEventListener("change", (event) => {
  const form = event.target.dataset.picks;
  if (form) for (const each of document.querySelectorAll(`input[name=ids][form=${form}]`)) each.checked = event.target.checked;
  count();
});
document.addEventListener("penstock-shown", count);
addEventListener("pageshow", count);

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  event.preventDefault();
  document.getElementById("search")?.focus();
});

// empty fields of a filter do not belong into the address
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.method !== "get") return;
  for (const [name, value] of [...formData]) if (!value) formData.delete(name);
});

// on a phone the navigation is wider than the screen
document.querySelector(".rail nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

setInterval(tick, 1000);
