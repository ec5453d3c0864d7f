// One stream for the page: the server tells which regions changed, and they are replaced. A page that nobody sees has
// none, because a browser has few connections to a server, and every tab would take one.
import { morph } from "./morph.js";
import { tick } from "./times.js";

const WORDS = { live: "live", joining: "connecting", away: "the database does not answer", over: "not live: reload the page" };

class Live extends HTMLElement {
  #source = null;
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
    else if (!this.#source) this.#start();
  }

  #start() {
    const base = document.body.dataset.base;
    const here = location.pathname.slice(base.length) + location.search;
    const source = new EventSource(`${base}/dashboard/events?page=${encodeURIComponent(here)}`);
    this.#source = source;
    this.#say("joining");
    source.addEventListener("open", () => this.#say("live"));
    source.addEventListener("regions", (event) => this.#show(JSON.parse(event.data)));
    source.addEventListener("away", () => this.#say("away"));
    source.addEventListener("back", () => this.#say("live"));
    source.addEventListener("over", () => { this.#over = true; this.#stop(); this.#say("over"); });
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return this.#say("joining");
      this.#stop();
      this.#say("over");
    });
  }

  #stop() {
    this.#source?.close();
    this.#source = null;
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
