/** Readings: who it is about, the flow as it goes, and then the book: to listen to by chapters, and to read. */

import { request, start } from "../penstock.js";
import { clock, h, moment, onSubmit, picture, signedIn } from "../recipes/page.js";
import { PLACES } from "./places.js";

const KIND = "nuclear_v2";
const form = document.querySelector("form");
const current = document.querySelector("#current");
const book = document.querySelector("#book");
const earlier = document.querySelector("#earlier");

onSubmit(form, async (given) => {
  const people = {};
  for (const fieldset of form.querySelectorAll(".person")) {
    const person = personIn(fieldset);
    if (person.name) people[fieldset.dataset.person] = person;
  }
  const { id } = await start(KIND, { ...people, systems: given.getAll("systems") });
  follow(id);
});

await signedIn();
for (const select of form.querySelectorAll("[name=place]")) {
  select.append(...Object.keys(PLACES).map((name) => h("option", {}, name)));
}
await showEarlier();

function personIn(fieldset) {
  const value = (name) => fieldset.querySelector(`[name=${name}]`).value;
  const time = value("birthTime");
  return { name: value("name").trim(), birthDate: value("birthDate"), ...(time && { birthTime: time }), ...PLACES[value("place")] };
}

function follow(id) {
  book.hidden = true;
  const progress = h("penstock-progress", { job: id, label: "The reading", cancel: true, retry: true, links: "none" });
  const ended = async ({ detail }) => {
    // of one whose recordings were refused there is a book all the same
    if (detail.artifacts.some(({ name }) => name === "json/full_nuclear.json")) await showBook(detail);
    await showEarlier();
  };
  for (const end of ["succeeded", "failed", "cancelled"]) progress.addEventListener(end, ended);
  current.replaceChildren(progress);
  current.hidden = false;
  if (matchMedia("(width < 60rem)").matches) current.scrollIntoView({ behavior: "smooth" });
}

/** Chapters with all that was made of each: its text, its sound, its PDF. */
async function showBook(job) {
  const files = new Map(job.artifacts.map((each) => [each.name, each]));
  const whole = await (await fetch(files.get("json/full_nuclear.json").url)).json();
  const pdf = files.get("pdf/full_nuclear.pdf");
  const chapters = whole.chapters.map((chapter) => ({
    ...chapter,
    sound: job.artifacts.find(({ name }) => name.startsWith(`audio/chapter${chapter.chapter}.`)),
    pdf: files.get(`pdf/chapter${chapter.chapter}.pdf`),
  }));
  const people = [whole.params.person1, whole.params.person2].filter(Boolean).map((each) => each.name);
  const length = job.output ? `${job.output.pages} pages, ${clock(job.output.seconds)} of listening` : "not recorded";
  const told = `${chapters.length} chapters, ${length}`;
  const { playing, ...rest } = player(chapters);
  const about = h(
    "div",
    { class: "stack" },
    h("div", {}, h("h2", {}, `For ${people.join(" and ")}`), h("p", { class: "quiet" }, told)),
    playing,
    h("p", { class: "row" }, h("a", { class: "button", href: pdf.url, download: true }, "Download the book")),
  );
  const cover = await picture(`api/v1/readings/preview/${pdf.id}?page=1`, { alt: "The book’s first page" });
  if (!current.querySelector(`[job="${job.id}"]`)) return; // another is followed by now
  book.replaceChildren(h("div", { class: "card cover" }, cover, about), rest.chapters, rest.text);
  book.hidden = false;
}

/** One sound after the other, a list to choose from, and the text of what is being read. */
function player(chapters) {
  const title = h("h3", {});
  const audio = h("audio", { controls: true, preload: "none", "aria-label": "The chapter, read aloud" });
  const text = h("div", { class: "text", tabindex: "-1" });
  const buttons = chapters.map((chapter, place) => {
    const button = h(
      "button",
      { type: "button" },
      h("span", { class: "number" }, String(chapter.chapter)),
      chapter.title,
      h("span", { class: "length number" }, chapter.sound ? clock(chapter.duration) : ""),
    );
    button.addEventListener("click", () => choose(place, true));
    return button;
  });
  audio.addEventListener("ended", () => buttons[here + 1] && choose(here + 1, true));
  let here = -1;

  function choose(place, plays) {
    here = place;
    const chapter = chapters[place];
    for (const [number, button] of buttons.entries()) {
      if (number === place) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    title.textContent = `${chapter.chapter}. ${chapter.title}`;
    audio.hidden = !chapter.sound;
    if (chapter.sound) audio.src = chapter.sound.url;
    if (plays && chapter.sound) audio.play().catch(() => {});
    text.replaceChildren(
      h("h2", {}, chapter.title),
      ...chapter.sections.flatMap((section) => [
        section.heading ? h("h3", {}, section.heading) : null,
        ...section.paragraphs.map((paragraph) => h("p", {}, paragraph)),
      ]).filter(Boolean),
      h("p", {}, h("a", { href: chapter.pdf.url, download: true }, "This chapter as a PDF")),
    );
  }

  choose(0, false);
  const list = h("ol", { class: "plain chapters" }, ...buttons.map((button) => h("li", {}, button)));
  return {
    playing: h("div", {}, title, audio),
    chapters: h("div", { class: "card" }, h("h2", {}, "Chapters"), list),
    text: h("article", { class: "card" }, text),
  };
}

async function showEarlier() {
  const { jobs } = await request(`api/jobs?kind=${KIND}&limit=10`);
  if (jobs.length === 0) {
    earlier.replaceChildren(h("p", { class: "quiet small" }, "None yet. One takes about a quarter of a minute."));
    return;
  }
  earlier.replaceChildren(h("ul", { class: "plain" }, ...jobs.map(line)));
}

function line(job) {
  const people = [job.args.person1, job.args.person2].filter(Boolean).map((each) => each.name);
  const open = h("button", { class: "second", type: "button" }, "Open");
  open.addEventListener("click", () => follow(job.id));
  return h(
    "li",
    { class: "line row" },
    h("div", { class: "grow" }, h("div", {}, `For ${people.join(" and ")}`), h("div", { class: "quiet small" }, `${job.state} · ${moment(job.created_at)}`)),
    open,
  );
}
