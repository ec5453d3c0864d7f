/** <penstock-progress job="…">: how a job is doing, for people. */

import { FINAL, cancel, retry } from "./api.js";
import { sheet } from "./progress-style.js";
import { watch } from "./watch.js";

const SAY_EVERY = 5_000; // a screen reader that is told of every percent says nothing else

// on a server that renders pages there are no elements
const Base = globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (class {});

export class PenstockProgress extends Base {
  static observedAttributes = ["job", "label", "watch", "cancel", "retry", "links"];

  /** @type {import("../penstock.js").Job | null} */
  #current = null;
  /** @type {AbortController | null} */
  #watching = null;
  #parts;
  #said = { text: "", at: 0, timer: 0 };

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet()];
    this.#parts = build(root);
    this.#parts.cancel.addEventListener("click", () => this.#act(cancel, this.#parts.cancel));
    this.#parts.retry.addEventListener("click", () => this.#act(retry, this.#parts.retry));
  }

  /** The id of the job that is shown. */
  get job() {
    return this.getAttribute("job") ?? "";
  }
  set job(id) {
    if (id) this.setAttribute("job", id);
    else this.removeAttribute("job");
  }

  get label() {
    return this.getAttribute("label") ?? "";
  }
  set label(text) {
    this.setAttribute("label", text);
  }

  /** The job as it was last told; null before that. */
  get current() {
    return this.#current;
  }

  connectedCallback() {
    this.#follow();
  }

  disconnectedCallback() {
    this.#watching?.abort();
    this.#watching = null;
    clearTimeout(this.#said.timer);
  }

  /** @param {string} name @param {string | null} before @param {string | null} after */
  attributeChangedCallback(name, before, after) {
    if (before === after || !this.isConnected) return;
    if (name === "job" || name === "watch") this.#follow();
    else this.#show();
  }

  async #follow() {
    this.#watching?.abort();
    const watching = (this.#watching = new AbortController());
    this.#current = null;
    this.#complain("");
    this.#show();
    if (!this.job) return;
    try {
      const options = { signal: watching.signal, token: this.getAttribute("watch") ?? undefined };
      for await (const job of watch(this.job, options)) {
        if (watching.signal.aborted) return;
        this.#current = job;
        this.#show();
        this.#tell(FINAL.has(job.state) ? job.state : "progress", job);
      }
    } catch (error) {
      if (watching.signal.aborted) return;
      this.dataset.state = "problem"; // nothing more is waited for
      this.#complain(/** @type {Error} */ (error).message);
      this.#tell("problem", error);
    }
  }

  /** @param {(id: string) => Promise<unknown>} action @param {HTMLButtonElement} button */
  async #act(action, button) {
    button.disabled = true;
    this.#complain("");
    try {
      await action(this.job);
      if (action === retry) await this.#follow();
    } catch (error) {
      this.#complain(/** @type {Error} */ (error).message);
      this.#tell("problem", error);
    } finally {
      button.disabled = false;
    }
  }

  /** @param {string} name @param {unknown} detail */
  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  /** @param {string} text */
  #complain(text) {
    this.#parts.problem.textContent = text;
    this.#parts.problem.hidden = !text;
  }

  #show() {
    const job = this.#current;
    const parts = this.#parts;
    const view = describe(job);
    this.dataset.state = view.state;
    const label = this.label || view.label;
    parts.label.textContent = label;
    parts.percent.textContent = view.percent === null ? "" : `${Math.floor(view.percent)}%`;
    parts.bar.setAttribute("aria-label", label);
    parts.bar.classList.toggle("waiting", view.percent === null);
    if (view.percent === null) parts.bar.removeAttribute("aria-valuenow");
    else parts.bar.setAttribute("aria-valuenow", String(Math.floor(view.percent)));
    parts.bar.setAttribute("aria-valuetext", view.said);
    parts.fill.style.setProperty("inline-size", `${view.percent ?? 0}%`);
    parts.state.textContent = view.word;
    for (const name of /** @type {const} */ (["phase", "message", "count", "attempt"])) {
      parts[name].textContent = view[name];
      parts[name].hidden = !view[name];
    }
    const ended = FINAL.has(view.state);
    parts.cancel.hidden = !this.hasAttribute("cancel") || !job || ended || view.state === "stopping";
    parts.retry.hidden = !this.hasAttribute("retry") || !["failed", "cancelled"].includes(view.state);
    this.#link(this.getAttribute("links") === "none" ? [] : (job?.artifacts ?? []));
    this.#say(`${label}: ${view.said}`, ended);
  }

  /** @param {import("../penstock.js").Artifact[]} artifacts */
  #link(artifacts) {
    const { artifacts: list } = this.#parts;
    list.hidden = artifacts.length === 0;
    list.replaceChildren(
      ...artifacts.map((artifact) => {
        const link = make("a", { part: "artifact", href: artifact.url, download: "" }, artifact.name);
        return make("li", {}, link, make("span", { class: "size" }, bytes(artifact.size)));
      }),
    );
  }

  /** To screen readers, now and then. @param {string} text @param {boolean} atOnce */
  #say(text, atOnce) {
    const said = this.#said;
    clearTimeout(said.timer);
    if (text === said.text || !this.#current) return;
    const wait = atOnce ? 0 : Math.max(0, said.at + SAY_EVERY - Date.now());
    said.timer = setTimeout(() => {
      Object.assign(said, { text, at: Date.now() });
      this.#parts.status.textContent = text;
    }, wait);
  }
}

const WORDS = {
  blocked: "Waiting",
  scheduled: "Waiting",
  ready: "Queued",
  running: "Running",
  stopping: "Stopping",
  succeeded: "Done",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** What there is to show of a job, in words. @param {import("../penstock.js").Job | null} job */
export function describe(job) {
  if (!job) {
    const nothing = { phase: "", message: "", count: "", attempt: "" };
    return { state: "loading", label: "", percent: null, word: "", said: "", ...nothing };
  }
  const { progress } = job;
  const ended = FINAL.has(job.state);
  // a flow waits for its jobs: to whoever asked for it, it runs as soon as one of them does
  const runs = job.state === "running" || (job.state === "blocked" && (progress.percent > 0 || progress.phase));
  const state = ended ? job.state : job.cancel_requested ? "stopping" : runs ? "running" : job.state;
  const begun = ended || runs || progress.percent > 0;
  const percent = begun ? progress.percent : null;
  const count = progress.total ? `${progress.done ?? 0} of ${progress.total}` : "";
  const tried = job.attempt > 1 && !ended ? `Attempt ${job.attempt} of ${job.max_attempts}` : "";
  const attempt = [tried, ended ? "" : progress.reason].filter(Boolean).join(": ");
  // of a job that is tried again the message says the same
  const told = attempt && progress.message?.startsWith("Attempt") ? "" : progress.message;
  const message = (job.state === "failed" ? job.error : ended ? "" : told) ?? "";
  const phase = ended ? "" : (progress.phase ?? "").replaceAll("_", " ");
  const word = WORDS[state] ?? state;
  const said = [word, percent !== null && !ended ? `${Math.floor(percent)}%` : "", phase, message].filter(Boolean).join(", ");
  return { state, label: job.kind, percent, word, said, phase, message, count, attempt };
}

/** @param {number | null} size */
function bytes(size) {
  if (size === null || size === undefined) return "";
  const units = ["B", "kB", "MB", "GB"];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, size)) / 3));
  const value = size / 1000 ** step;
  return `${value.toFixed(step && value < 10 ? 1 : 0)} ${units[step]}`;
}

/** @param {ShadowRoot} root */
function build(root) {
  const parts = {
    label: make("span", { part: "label" }),
    percent: make("span", { part: "percent" }),
    fill: make("div", { part: "fill" }),
    bar: make("div", { part: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100" }),
    state: make("span", { part: "state" }),
    phase: make("span", { part: "phase" }),
    count: make("span", { part: "count" }),
    message: make("span", { part: "message" }),
    attempt: make("p", { part: "attempt" }),
    problem: make("p", { part: "problem", role: "alert" }),
    artifacts: make("ul", { part: "artifacts" }),
    cancel: /** @type {HTMLButtonElement} */ (make("button", { part: "cancel", type: "button" }, "Cancel")),
    retry: /** @type {HTMLButtonElement} */ (make("button", { part: "retry", type: "button" }, "Try again")),
    status: make("span", { class: "unseen", role: "status", "aria-live": "polite" }),
  };
  parts.bar.append(parts.fill);
  const actions = make("div", { class: "actions" }, parts.cancel, parts.retry);
  root.append(
    make("div", { class: "head" }, parts.label, parts.percent),
    parts.bar,
    make("div", { class: "foot" }, make("p", { class: "line" }, parts.state, parts.phase, parts.count, parts.message), actions),
    parts.attempt,
    parts.problem,
    parts.artifacts,
    parts.status,
  );
  return parts;
}

/**
 * @param {string} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

globalThis.customElements?.get("penstock-progress") ??
  globalThis.customElements?.define("penstock-progress", PenstockProgress);
