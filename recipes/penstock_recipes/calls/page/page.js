/** Calls: a recording is sent, its stages are watched, and what was said stands beside the player. */

import { request } from "../penstock.js";
import { clock, h, moment, onSubmit, signedIn } from "../recipes/page.js";

const API = "api/v1/calls";
const form = document.querySelector("form");
const file = form.elements.file;
const list = document.querySelector("#calls");
const current = document.querySelector("#current");
const view = document.querySelector("#call");
let opened = null;

onSubmit(form, async () => {
  const [recording] = file.files;
  const about = new URLSearchParams({ orgId: org.value, fileName: recording.name });
  const headers = { "Content-Type": recording.type || "application/octet-stream" };
  const { id } = await request(`${API}?${about}`, { method: "POST", body: recording, headers });
  form.reset();
  await showCalls();
  await open(id);
});

const { orgs } = await signedIn();
const org = form.elements.org;
org.append(...orgs.map((each) => h("option", {}, each)));
org.closest("label").hidden = orgs.length < 2;
org.addEventListener("change", showCalls);
if (orgs.length === 0) {
  list.replaceChildren(h("p", { class: "empty" }, "Calls belong to organisations, and your token names none."));
} else {
  const calls = await showCalls();
  const done = calls.find((each) => each.status === "done");
  if (done && !opened) await open(done.id);
}

const drop = form.querySelector(".drop");
for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragenter" || name === "dragover");
    if (name === "drop" && event.dataTransfer.files.length) file.files = event.dataTransfer.files;
  });
}

async function showCalls() {
  const of = org.value;
  const { calls } = await request(`${API}?orgId=${encodeURIComponent(of)}&limit=20`);
  if (of !== org.value) return calls; // another was chosen meanwhile
  if (calls.length === 0) list.replaceChildren(h("p", { class: "quiet small" }, "None yet."));
  else list.replaceChildren(h("ul", { class: "plain" }, ...calls.map((call) => h("li", {}, entry(call)))));
  return calls;
}

function entry(call) {
  const told = [call.status === "done" ? clock(call.seconds) : call.status, moment(call.createdAt)].join(" · ");
  const button = h("button", { type: "button", "data-call": call.id, "aria-current": call.id === opened ? "true" : null }, h("span", { class: "name" }, call.fileName), h("span", { class: "quiet small number" }, told));
  button.addEventListener("click", () => open(call.id));
  return button;
}

async function open(id) {
  opened = id;
  for (const each of list.querySelectorAll("[data-call]")) {
    if (each.dataset.call === id) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
  const call = await request(`${API}/${id}`);
  if (opened !== id) return; // another was opened meanwhile
  view.hidden = true;
  current.hidden = true;
  if (call.status === "done") return showCall(call);
  const progress = h("penstock-progress", { job: call.jobId, label: call.fileName, cancel: true, links: "none" });
  progress.addEventListener("succeeded", async () => {
    await showCalls();
    if (opened === id) await open(id);
  });
  for (const end of ["failed", "cancelled"]) progress.addEventListener(end, showCalls);
  current.replaceChildren(progress);
  current.hidden = false;
}

async function showCall(call) {
  const [transcript, analysis] = await Promise.all(["transcript", "analysis"].map(async (name) => (await fetch(call.files[name].url)).json()));
  if (opened !== call.id) return;
  const audio = h("audio", { controls: true, preload: "metadata", src: call.files.audio.url, "aria-label": call.fileName });
  const lines = transcript.segments.filter((each) => each.text);
  view.replaceChildren(
    h("div", { class: "card player" }, h("h2", {}, call.fileName), audio),
    h("div", { class: "card" }, h("h2", {}, "What was said"), spoken(lines, audio)),
    h("div", { class: "card" }, h("h2", {}, "What can be told about it"), ...told(analysis)),
  );
  view.hidden = false;
}

/** Each line seeks when it is clicked, and is marked while it is heard. */
function spoken(lines, audio) {
  if (lines.length === 0) return h("p", { class: "quiet" }, "Nothing that could be understood.");
  const buttons = lines.map((line) => {
    const button = h(
      "button",
      { type: "button" },
      h("span", { class: "at number" }, clock(line.start)),
      h("span", {}, line.text),
    );
    button.addEventListener("click", () => {
      audio.currentTime = line.start;
      audio.play().catch(() => {});
    });
    return button;
  });
  audio.addEventListener("timeupdate", () => {
    for (const [place, line] of lines.entries()) {
      const heard = line.start <= audio.currentTime && audio.currentTime < line.end;
      if (heard) buttons[place].setAttribute("aria-current", "true");
      else buttons[place].removeAttribute("aria-current");
    }
  });
  const items = lines.map((line, place) => {
    const other = line.speaker !== lines[place - 1]?.speaker;
    const name = other ? h("h3", {}, `Speaker ${line.speaker}`) : null;
    return h("li", { class: line.speaker === 2 ? "second-speaker" : null }, name, buttons[place]);
  });
  return h("ol", { class: "plain said" }, ...items);
}

function told({ summary, measures, opinion }) {
  const facts = {
    Length: clock(measures.seconds),
    Words: measures.words,
    "Words a minute": Math.round(measures.words_per_minute ?? 0),
    Pauses: measures.pauses.count,
    Interruptions: measures.overlaps.count,
    ...(opinion && { Sentiment: opinion.sentiment }),
  };
  return [
    h("p", {}, summary),
    h("dl", { class: "measures" }, ...Object.entries(facts).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { class: "number" }, String(value))))),
    h("ul", { class: "plain shares" }, ...measures.speakers.map(share)),
    opinion?.outcome ? h("p", {}, opinion.outcome) : null,
    opinion?.next_steps?.length ? h("ul", {}, ...opinion.next_steps.map((each) => h("li", {}, each))) : null,
    measures.terms.length ? h("div", { class: "terms" }, ...measures.terms.map((each) => h("span", {}, each.term))) : null,
  ].filter(Boolean);
}

function share({ speaker, share }) {
  const percent = Math.round(share * 100);
  const part = h("span", {});
  part.style.inlineSize = `${percent}%`;
  return h("li", {}, h("span", {}, `Speaker ${speaker}`), h("span", { class: "share", "aria-hidden": "true" }, part), h("span", { class: "number" }, `${percent}%`));
}
