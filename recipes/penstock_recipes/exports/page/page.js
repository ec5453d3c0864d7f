/** Résumés: a form, the export as it is made, its pages, and what was made before. */

import { request } from "../penstock.js";
import { bytes, h, moment, onSubmit, picture, signedIn } from "../recipes/page.js";

const SHOWN = 4; // pages of a PDF
const form = document.querySelector("form");
const current = document.querySelector("#current");
const earlier = document.querySelector("#earlier");

onSubmit(form, async (given) => {
  for (const name of ["name", "headline", "email", "location", "summary"]) resume.profile[name] = given.get(name);
  const skills = given.get("skills").split(",").map((each) => each.trim()).filter(Boolean);
  if (skills.join(", ") !== (resume.skills ?? []).flatMap((each) => each.items ?? [each]).join(", ")) resume.skills = skills;
  const stored = await request("api/v1/documents", { method: "POST", body: { title: given.get("name"), data: resume } });
  const options = {
    pageSize: given.get("pageSize"),
    colorMode: given.get("colorMode"),
    quality: "high",
    margins: { top: 0.8, bottom: 0.8, left: 0.8, right: 0.8 },
  };
  const body = { documentId: stored.data.id, templateSlug: given.get("template"), options };
  const started = await request("api/v1/export/pdf", { method: "POST", body });
  follow(started.data.jobId, given.get("name"));
});

// before the page is shown, or its button would have nothing to send
const samples = await (await fetch(new URL("samples.json", import.meta.url))).json();
let resume = { profile: { name: "" } };

const choose = form.querySelector("[data-field=sample]");
choose.append(...Object.keys(samples).map((name) => h("option", {}, name)));
choose.addEventListener("change", () => fill(structuredClone(samples[choose.value] ?? { profile: { name: "" } })));
choose.value = Object.keys(samples)[0];
choose.dispatchEvent(new Event("change"));

await signedIn();
await showEarlier();

/** What the form does not show of a résumé stays as it is. */
function fill(chosen) {
  resume = chosen;
  for (const name of ["name", "headline", "email", "location", "summary"]) form.elements[name].value = resume.profile[name] ?? "";
  form.elements.skills.value = (resume.skills ?? []).flatMap((each) => each.items ?? [each]).join(", ");
}

function follow(job, label) {
  const progress = h("penstock-progress", { job, label, cancel: true, retry: true, links: "none" });
  const trouble = h("p", { class: "wrong", role: "status" });
  let told = 0;
  const tell = async ({ detail: { state, attempt } }) => {
    const turn = ++told;
    const failed = attempt > 0 && ["scheduled", "ready", "failed"].includes(state);
    const words = failed ? await whyFailed(job) : "";
    if (turn === told) trouble.textContent = words;
  };
  for (const each of ["progress", "failed", "succeeded", "cancelled"]) progress.addEventListener(each, tell);
  progress.addEventListener("succeeded", async ({ detail }) => {
    await showResult(detail);
    await showEarlier();
  });
  current.replaceChildren(progress, trouble);
  current.hidden = false;
  if (matchMedia("(width < 60rem)").matches) current.scrollIntoView({ behavior: "smooth" });
}

/** In the words of exports, and when it is tried again: of a job in general only that something failed may be told. */
async function whyFailed(job) {
  const { data } = await request(`api/v1/export/job/${job}`);
  const again = data.status === "pending" ? `; attempt ${data.attempts + 1} of ${data.maxAttempts} is at ${moment(data.runAfter)}` : "";
  return data.error ? `${data.error}${again}` : "";
}

async function showResult(job) {
  const [pdf] = job.artifacts;
  const { data } = await request(`api/v1/export/job/${job.id}`);
  const told = `${data.pageCount} ${data.pageCount === 1 ? "page" : "pages"}, ${bytes(data.fileSize)}`;
  const pages = await sheets(pdf.id, data.pageCount);
  if (!current.querySelector(`[job="${job.id}"]`)) return; // another is followed by now
  current.append(
    h("div", { class: "row finished" }, h("a", { class: "button", href: pdf.url, download: true }, "Download the PDF"), h("span", { class: "quiet small" }, told)),
    ...data.warnings.map((warning) => h("p", { class: "wrong" }, warning)),
    pages,
  );
}

async function sheets(artifact, count) {
  const numbers = Array.from({ length: Math.min(count, SHOWN) }, (_, place) => place + 1);
  const pictures = numbers.map((page) => picture(`api/v1/export/preview/${artifact}?page=${page}`, { alt: `Page ${page}` }));
  return h("div", { class: "sheets" }, ...(await Promise.all(pictures)));
}

async function showEarlier() {
  const { data } = await request("api/v1/export/history?limit=20");
  if (data.exports.length === 0) {
    earlier.replaceChildren(h("p", { class: "empty" }, "Nothing yet. Fill in the form, and the first PDF will be here."));
    return;
  }
  earlier.replaceChildren(h("ul", { class: "card plain" }, ...data.exports.map(line)));
}

function line(made) {
  const get = h("button", { class: "second", type: "button", "aria-label": `Download ${made.fileName}` }, "Download");
  get.addEventListener("click", async () => {
    const { data } = await request(`api/v1/export/download/${made.id}?format=json`);
    location.href = data.url; // an attachment: the page stays
  });
  const remove = h("button", { class: "bare", type: "button", "aria-label": `Delete ${made.fileName}` }, "Delete");
  remove.addEventListener("click", async () => {
    await request(`api/v1/export/history/${made.id}`, { method: "DELETE" });
    await showEarlier();
  });
  const about = `${made.templateSlug}, ${made.pageCount} ${made.pageCount === 1 ? "page" : "pages"}, ${bytes(made.fileSize)} · ${moment(made.createdAt)}`;
  return h(
    "li",
    { class: "line row" },
    h("div", { class: "grow" }, h("div", { class: "name" }, made.fileName), h("div", { class: "quiet small number" }, about)),
    get,
    remove,
  );
}
