// One stream for the page: the server tells which regions changed, and they are replaced. A page that nobody sees has
// none, because a browser has few connections to a server, and every tab would take one.
import { morph } from "./morph.js";
import { tick } from "./times.js";

const WORDS = { live: "live", joining: "connecting", away: "the database does not answer", over: "not live: reload the page" };
const RETRY = { least: 1000, most: 60_000 }; // ms, after an answer that is no stream

// What another try would not change. A proxy that has no server to ask may say 404 too.
const isFinal = (answer) => [401, 404].includes(answer?.status) && answer.headers.get("content-type")?.includes("problem+json");

class Live extends HTMLElement {
  #source = null;
  #timer = 0;
  #pause = RETRY.least;
  #over = false;

  connectedCallback() {
    if (!document.querySelector("[data-live]")) return this.#say("off");
    document.addEventListener("visibilitychange", () => this.#sync());
    addEventListener("pagehide", () => this.#stop());
    addEventListener("pageshow", () => this.#sync());
    this.#sync();
  }

  #sync() {
    if (document.hidden || this.#over) this.#stop();
    else if (!this.#source && !this.#timer) this.#start();
  }

  #start() {
    const base = document.body.dataset.base;
    const here = location.pathname.slice(base.length) + location.search;
    const source = new EventSource(`${base}/dashboard/events?page=${encodeURIComponent(here)}`);
    this.#source = source;
    this.#say("joining");
    source.addEventListener("open", () => {
      this.#pause = RETRY.least;
      this.#say("live");
    });
    source.addEventListener("regions", (event) => this.#show(JSON.parse(event.data)));
    source.addEventListener("away", () => this.#say("away"));
    source.addEventListener("back", () => this.#say("live"));
    source.addEventListener("over", () => this.#end());
    source.addEventListener("error", () => {
      this.#say("joining");
      if (source.readyState === EventSource.CLOSED) this.#refused(source);
    });
  }

  // The browser comes back by itself after a lost connection alone, and does not say what else it was.
  async #refused(source) {
    const answer = await fetch(source.url).catch(() => null);
    answer?.body?.cancel();
    if (this.#source !== source) return;
    if (isFinal(answer)) return this.#end();
    this.#stop();
    this.#timer = setTimeout(() => { this.#timer = 0; this.#sync(); }, this.#pause);
    this.#pause = Math.min(2 * this.#pause, RETRY.most);
  }

  #end() {
    this.#over = true;
    this.#stop();
    this.#say("over");
  }

  #stop() {
    this.#source?.close();
    this.#source = null;
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  #show(regions) {
    for (const [name, html] of Object.entries(regions)) {
      for (const region of document.querySelectorAll(`[data-live="${CSS.escape(name)}"]`)) morph(region, html);
    }
    tick();
    document.dispatchEvent(new Event("penstock-shown"));
  }

  #say(state) {
    this.dataset.state = state;
    this.querySelector(".words").textContent = WORDS[state] ?? "";
  }
}

customElements.define("penstock-live", Live);
