/** A door to each page that this application has. */

import { request } from "../penstock.js";
import { h, signedIn } from "./page.js";

await signedIn();
const { pages } = await request("api/pages");
const base = new URL("..", import.meta.url);
const beside = [
  { path: "/", title: "The dashboard", about: "Queues, jobs, workers and schedules, for whoever runs it.", icon: "/recipes/mark.svg" },
  { path: "/docs", title: "The API", about: "Every request, with its answers and a line of curl.", icon: "/recipes/api.svg" },
];
const there = await Promise.all(beside.map(({ path }) => isThere(new URL(`.${path}`, base))));
const doors = [...pages.filter(({ path }) => path !== "/recipes"), ...beside.filter((_, place) => there[place])];
document.querySelector(".doors").replaceChildren(
  ...doors.map(({ path, title, about, icon }) => {
    const picture = h("img", { src: new URL(`.${icon ?? `${path}/icon.svg`}`, base).pathname, alt: "" });
    return h("a", { class: "card door", href: new URL(`.${path}`, base).pathname }, picture, h("h2", {}, title), h("p", {}, about));
  }),
);

/** Wherever that leads: whoever is not let in is sent to where they may ask. */
async function isThere(url) {
  return (await fetch(url, { redirect: "manual" })).status !== 404;
}
