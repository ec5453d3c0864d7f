import * as penstock from "../penstock.js";

globalThis.penstock = penstock;
