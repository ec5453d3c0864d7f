/** A door to each page that this application has. */

import { request } from "../penstock.js";
import { CODE, h, signedIn } from "./page.js";

await signedIn();
const { pages } = await request("api/pages");
const base = new URL("..", import.meta.url);
const beside = [
  { path: "/", title: "The dashboard", about: "Queues, jobs, workers and schedules, for whoever runs it.", icon: "/recipes/mark.svg" },
  { path: "/docs", title: "The API", about: "Every request, with its answers and a line of curl.", icon: "/recipes/api.svg" },
];
const there = await Promise.all(beside.map(({ path }) => isThere(new URL(`.${path}`, base))));
const doors = [...pages.filter(({ path }) => path !== "/recipes"), ...beside.filter((_, place) => there[place])];
document.querySelector(".doors").replaceChildren(...doors.map(door));

function door({ path, title, about, icon }) {
  const picture = h("img", { src: new URL(`.${icon ?? `${path}/icon.svg`}`, base).pathname, alt: "" });
  const link = h("a", { class: "card door", href: new URL(`.${path}`, base).pathname }, picture, h("h2", {}, title), h("p", {}, about));
  if (path === "/" && sessionStorage.getItem(CODE)) link.addEventListener("click", openDashboard);
  return link;
}

/** Whoever sits at the terminal is let in; others are asked. */
async function openDashboard(event) {
  event.preventDefault();
  const body = { code: sessionStorage.getItem(CODE) };
  const way = request("api/development/dashboard", { method: "POST", body, authorized: false });
  location.href = await way.then(({ url }) => url, () => base.href);
}

/** Wherever that leads: whoever is not let in is sent to where they may ask. */
async function isThere(url) {
  return (await fetch(url, { redirect: "manual" })).status !== 404;
}
