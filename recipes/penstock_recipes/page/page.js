/** What the pages of all recipes share: who is here, the menu, forms that say what is wrong. */

import { PenstockError, configure, request } from "../penstock.js";

const KEPT = "penstock.token";
/** The code of the link that somebody came by: for as long as the tab is open, and only while developing. */
export const CODE = "penstock.sign-in";

/** Here the application's own sign-in may leave a token, on this origin, for as long as the tab is open. */
const kept = {
  get: () => sessionStorage.getItem(KEPT),
  set: (token) => (token ? sessionStorage.setItem(KEPT, token) : sessionStorage.removeItem(KEPT)),
};

/** Whoever is signed in; the page is shown when somebody is. */
export async function signedIn() {
  showMenu();
  await useLink();
  const token = kept.get();
  const user = token ? claimsOf(token) : null;
  if (!user) return askForToken();
  configure({ token: ({ refresh }) => (refresh ? askAgain() : kept.get()) });
  const orgs = [user.org_id, user.app_metadata?.org_id, ...(user.app_metadata?.org_ids ?? [])].filter(Boolean);
  const leave = h("button", { class: "bare", type: "button" }, "Sign out");
  leave.addEventListener("click", () => {
    kept.set(null);
    location.reload();
  });
  document.querySelector(".who")?.replaceChildren(user.sub, leave);
  const main = document.querySelector("main");
  main.hidden = false;
  return { name: user.sub, orgs };
}

/** The link that `penstock up` prints has a code behind its #. */
async function useLink() {
  const code = new URLSearchParams(location.hash.slice(1)).get("sign-in");
  if (!code) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const body = { code };
    kept.set((await request("api/development/sign-in", { method: "POST", body, authorized: false })).token);
    sessionStorage.setItem(CODE, code);
  } catch (error) {
    console.warn(`could not sign in by the link: ${error.message}`);
  }
}

/** What a token says of whoever has it; the server checks it, this only shows it. */
function claimsOf(token) {
  try {
    const bytes = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0))));
    return claims.exp * 1000 > Date.now() ? claims : null;
  } catch {
    return null;
  }
}

/** The server knows it no more. */
function askAgain() {
  kept.set(null);
  location.reload();
  return new Promise(() => {});
}

function askForToken() {
  const field = h("input", { name: "token", autocomplete: "off", spellcheck: "false", required: "" });
  const form = h("form", {}, h("label", { class: "field" }, h("span", {}, "Token"), field), h("button", {}, "Sign in"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (claimsOf(field.value.trim())) {
      kept.set(field.value.trim());
      location.reload();
    } else showProblems(form, { token: "is none, or is over; make another" });
  });
  const how = h("p", { class: "quiet" }, "While you develop, open the link that ", h("code", {}, "penstock up"),
    " has printed, or make a token: ", h("code", {}, "penstock token --sub ada"));
  const asked = h("div", { class: "card sign-in" }, h("h1", {}, "Who is it?"), how, form);
  document.querySelector("main").after(h("main", {}, asked));
  for (const each of document.querySelectorAll("main[hidden], .skip")) each.remove();
  return new Promise(() => {});
}

async function showMenu() {
  const menu = document.querySelector(".top nav");
  const { pages } = await request("api/pages", { authorized: false });
  const here = location.pathname;
  menu.replaceChildren(
    ...pages.map(({ path, title }) => {
      const link = h("a", { href: new URL(`..${path}`, import.meta.url).pathname }, title);
      if (link.pathname === here) link.setAttribute("aria-current", "page");
      return link;
    }),
  );
  menu.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** What was refused and is nobody's field: said on top of the page, until something else is. */
addEventListener("unhandledrejection", (event) => {
  if (!(event.reason instanceof PenstockError)) return;
  event.preventDefault();
  document.querySelector(".trouble")?.remove();
  document.querySelector("main").prepend(h("p", { class: "card trouble", role: "alert" }, event.reason.message));
});

/** An element. Text is text: nothing here is ever parsed as HTML. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((each) => each !== null && each !== undefined));
  return element;
}

/** Sends a form when it is submitted, once at a time; what is refused is said beside its field. */
export function onSubmit(form, send) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button:not([type=button])");
    showProblems(form, {});
    button.disabled = true;
    try {
      await send(new FormData(form));
    } catch (error) {
      if (!(error instanceof PenstockError)) throw error;
      showProblems(form, Object.keys(error.fields).length ? error.fields : { "": error.message });
    } finally {
      button.disabled = false;
    }
  });
}

/** A control is meant by fields that end as its name does, or as one of its `data-field`. */
function showProblems(form, fields) {
  for (const old of form.querySelectorAll(".wrong")) old.remove();
  for (const control of form.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  }
  let first = null;
  for (const [field, problem] of Object.entries(fields)) {
    const control = controlOf(form, field);
    if (control?.hasAttribute("aria-invalid")) continue;
    const said = h("p", { class: "wrong", role: "alert", id: `wrong-${Math.random().toString(36).slice(2)}` });
    said.textContent = control || !field ? problem : `${field}: ${problem}`;
    if (control) {
      control.setAttribute("aria-invalid", "true");
      control.setAttribute("aria-describedby", said.id);
      control.after(said);
      first ??= control;
    } else form.append(said);
  }
  first?.focus();
}

function controlOf(form, field) {
  return [...form.elements].find((each) => {
    const names = (each.dataset.field ?? each.name).split(" ").filter(Boolean);
    return names.some((name) => field === name || field.endsWith(`.${name}`));
  });
}

/** A picture that only its owner may see: asked for with a token, shown from memory. */
export async function picture(path, attributes) {
  const image = h("img", attributes);
  const answer = await request(path);
  image.src = URL.createObjectURL(await answer.blob());
  image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  return image;
}

/** 3:07, or 1:02:03. */
export function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function bytes(size) {
  const units = ["B", "kB", "MB", "GB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  const value = size / 1000 ** step;
  return `${value.toFixed(step && value < 10 ? 1 : 0)} ${units[step]}`;
}

export function moment(text) {
  return new Date(text).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
