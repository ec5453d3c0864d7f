// React's and Vue's components of the guide, which are beside this, as pages run them: OUT/react.js and OUT/vue.js.
import { readFile } from "node:fs/promises";
import { build } from "esbuild";
import { compileScript, parse } from "vue/compiler-sfc";

const vue = {
  name: "vue",
  setup: (building) => building.onLoad({ filter: /\.vue$/ }, async ({ path }) => {
    const { descriptor } = parse(await readFile(path, "utf8"), { filename: path });
    const compilerOptions = { isCustomElement: (tag) => tag.startsWith("penstock-") };
    const options = { id: "export", inlineTemplate: true, templateOptions: { compilerOptions } };
    return { contents: compileScript(descriptor, options).content, resolveDir: import.meta.dirname };
  }),
};

const mains = {
  "react.js": `
    import { createRoot } from "react-dom/client";
    import { Export } from "./Export.jsx";
    createRoot(document.getElementById("here")).render(<Export document={{ id: "d1", title: "A document" }} />);`,
  "vue.js": `
    import { createApp } from "vue";
    import Export from "./Export.vue";
    createApp(Export, { document: { id: "d1", title: "A document" } }).mount("#here");`,
};

for (const [name, contents] of Object.entries(mains)) await build({
  stdin: { contents, loader: "jsx", resolveDir: import.meta.dirname },
  outfile: `${process.env.OUT}/${name}`,
  bundle: true,
  format: "esm",
  jsx: "automatic",
  plugins: [vue],
  define: {
    "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "false", __VUE_PROD_DEVTOOLS__: "false",
    __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
  },
});
