/** Bookmarks: kept at once, and each card fills itself when its job is done. */

import { request } from "../penstock.js";
import { h, onSubmit, signedIn } from "../recipes/page.js";

const API = "api/v1/bookmarks";
const form = document.querySelector("form");
const cards = document.querySelector("#cards");
const more = document.querySelector("#more");
const empty = h("p", { class: "empty" }, "Nothing is kept yet. Pages, pictures and PDFs will do.");

onSubmit(form, async (given) => {
  const url = given.get("url");
  const { data } = await request(`${API}/add/data`, { method: "POST", body: { url } });
  if (form.elements.url.value === url) form.reset(); // the next one may have been written meanwhile
  empty.remove();
  cards.prepend(card(data));
});

await signedIn();
await show(null);
more.addEventListener("click", () => show(more.dataset.cursor));

async function show(cursor) {
  const { data } = await request(`${API}?limit=24${cursor ? `&cursor=${cursor}` : ""}`);
  cards.append(...data.bookmarks.map(card));
  more.hidden = data.next_cursor === null;
  more.dataset.cursor = data.next_cursor;
  if (!cards.children.length) cards.append(empty);
}

function card(bookmark) {
  const article = h("article", { class: "card bookmark" });
  draw(article, bookmark);
  return article;
}

function draw(article, bookmark) {
  const facts = bookmark.meta_data;
  const site = new URL(bookmark.url);
  const title = bookmark.title || lastPart(site);
  const image = bookmark.screenshot ?? bookmark.og_image;
  const name = h("h2", {}, h("a", { href: bookmark.url, rel: "noreferrer noopener", target: "_blank" }, title));
  article.replaceChildren(
    h("div", { class: bookmark.screenshot ? "shot" : "shot whole" }, image ? h("img", { src: image, alt: facts.img_caption || `What ${site.hostname} looks like`, loading: "lazy" }) : null),
    h(
      "div",
      { class: "told" },
      h("div", { class: "site" }, bookmark.fav_icon ? h("img", { src: bookmark.fav_icon, alt: "" }) : null, h("span", {}, site.host), remover(article, bookmark, title)),
      name,
      bookmark.description ? h("p", { class: "small" }, bookmark.description) : null,
      facts.img_caption ? h("p", { class: "small quiet" }, facts.img_caption) : null,
      facts.ocr && !facts.img_caption?.includes(facts.ocr) ? h("blockquote", {}, facts.ocr) : null,
      tags(facts),
      isDone(bookmark) ? null : follower(article, bookmark),
    ),
  );
}

/** Something was found out, or nothing will be. */
function isDone({ done, job_id, screenshot, meta_data }) {
  return done || !job_id || Boolean(screenshot && meta_data.width);
}

function follower(article, bookmark) {
  const progress = h("penstock-progress", { job: bookmark.job_id, label: "Having a look", retry: true, links: "none" });
  const look = async () => {
    const { data } = await request(`${API}/${bookmark.id}`);
    draw(article, { ...data, done: true });
  };
  progress.addEventListener("succeeded", look);
  return progress;
}

function remover(article, bookmark, title) {
  const button = h("button", { class: "bare", type: "button", "aria-label": `Delete ${title}` }, "Delete");
  button.addEventListener("click", async () => {
    button.disabled = true;
    await request(`${API}/${bookmark.id}`, { method: "DELETE" });
    article.remove();
    if (!cards.children.length) cards.append(empty);
  });
  return button;
}

function tags(facts) {
  const told = [
    facts.is_pdf ? `PDF, ${facts.pages} ${facts.pages === 1 ? "page" : "pages"}` : null,
    facts.width ? `${facts.width} × ${facts.height}` : null,
    facts.og_image_error ? "its picture is missing" : null,
  ].filter(Boolean);
  return told.length ? h("div", { class: "facts" }, ...told.map((each) => h("span", {}, each))) : null;
}

function lastPart(site) {
  const part = site.pathname.split("/").filter(Boolean).pop() ?? site.hostname;
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a % that begins nothing
  }
}
